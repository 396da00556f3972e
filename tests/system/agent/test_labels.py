"""`fsir-agent run` with labels from a button and a topic; records wait for them through kills."""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import time

import msgpack
import numpy as np
import pytest

from edge_agent.cli import main as press
from edge_agent.labels import file as label_file
from edge_agent.labels.timeline import Event
from edge_agent.state.state import State
from fsir.privacy.plan import first_stage
from fsir.wire.decode import decode
from fsir.wire.messages import Report
from tests.edge_agent.aggregators import TinyAggregator
from tests.edge_agent.motion import BEGIN, raw_task, recording, write_recording
from tests.edge_agent.processes import DEVICE, command, end, wait_for_line
from tests.edge_agent.world import one_hot
from tests.fsir.tasks import task

pytestmark = pytest.mark.broker


def saved_counts(directory) -> tuple[int, dict[str, int]]:
    """Records learned and refused, as the state file has them."""
    with contextlib.closing(State(directory / "state", None, read_only=True)) as state:
        learned = state.progress("test").learned
    table = {"n": 0, "refused": {}} if learned is None else msgpack.unpackb(learned)
    return table["n"], table["refused"]


def wait_until(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened in time"
        time.sleep(0.05)


def unlabelled(of, n: int) -> str:
    return "".join(json.dumps(dict.fromkeys(of.features.names, 0.5)) + "\n" for _ in range(n))


@pytest.fixture
def listening(mosquitto_url, tmp_path):
    """An agent that has accepted the task, and reads records without labels from a pipe."""
    of = task()

    @contextlib.contextmanager
    def start(*more):
        with TinyAggregator(mosquitto_url, of) as server:
            process = subprocess.Popen(
                command(mosquitto_url, "jsonl:-", tmp_path, "--label-delay", "1", *more),
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
            try:
                wait_for_line(process, "accepted, digest")
                yield process, server
                process.stdin.close()
                assert process.wait(60) == 3  # too few records, but all that were read are learned
            finally:
                end(process)

    return start


def test_a_pressed_button_labels_what_comes_after_it(listening, tmp_path):
    of = task()
    with listening("--labels", "press") as (process, _):
        process.stdin.write(unlabelled(of, 5))
        process.stdin.flush()
        wait_until(lambda: saved_counts(tmp_path) == (5, {"no label": 5}))
        assert press(["label", "a", "--state", str(tmp_path / "state")]) == 0
        process.stdin.write(unlabelled(of, 10))
        process.stdin.flush()
    assert saved_counts(tmp_path) == (15, {"no label": 5})


def test_labels_on_a_topic_of_the_broker_that_the_owner_names(listening, mosquitto_url, tmp_path):
    of = task()
    where = ("--labels", "topic:labels/me", "--source-broker", mosquitto_url)
    with listening(*where) as (process, server):

        def heard() -> bool:
            server.publish("labels/me", b'{"label": "b"}')
            return (tmp_path / "state" / "labels.jsonl").exists()

        wait_until(heard)
        server.publish("labels/me", b"flying")
        assert "a label that no task of this device knows" in wait_for_line(process, "not kept")
        process.stdin.write(unlabelled(of, 10))
        process.stdin.flush()
    assert saved_counts(tmp_path) == (10, {})


def test_without_being_asked_records_without_a_label_are_refused_as_ever(listening, tmp_path):
    of = task()
    with listening() as (process, _):
        assert press(["label", "a", "--state", str(tmp_path / "state")]) == 0
        process.stdin.write(unlabelled(of, 10))
        process.stdin.flush()
        assert "--labels press" in wait_for_line(process, "there are labels")
    assert saved_counts(tmp_path) == (10, {"unknown response": 10})


def test_a_recording_takes_the_labels_that_were_given_before_the_first_run(mosquitto_url, tmp_path):
    path = write_recording(tmp_path / "walk.csv", *recording(30))
    (tmp_path / "state").mkdir()
    for label, since in (("a", 0), ("Sitting", 15)):
        times = ["--at", str(BEGIN + since), "--for", "15"]
        assert press(["label", label, *times, "--state", str(tmp_path / "state")]) == 0
    ranges = ("--acc-range", "8", "--gyro-range", "35")
    with TinyAggregator(mosquitto_url, raw_task()):
        arguments = command(mosquitto_url, f"signals:{path}", tmp_path, *ranges)
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3, done.stderr
    offered, refused = saved_counts(tmp_path)
    assert offered - sum(refused.values()) >= 8
    assert refused["unknown response"] >= 8
    complaint = "a label that the task does not know: not learned; known are a, b"
    assert done.stderr.count(complaint) == 1


def learn_delayed_labels_with_kills(url, tmp_path, kills):
    """One-hot records, labelled by time, each waiting for its label.

    None counts twice, and none with another's label.
    """
    hot = 150
    of = task(
        hot,
        privacy={"mechanism": "none"},
        clip={"truncate": 1.0, "norm": 1.0},
        report={"records": 100},
    )
    (tmp_path / "policy.toml").write_text('unproven = ["none"]\n')
    start = time.time() + 3600.0  # so that every record waits, however late it is read
    rows = [
        {k: v for k, v in one_hot(of, j).items() if k != "y"} | {"t": start + 0.05 * j}
        for j in range(hot)
    ]
    (tmp_path / "hot.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "state").mkdir()
    for first, label in ((0, "a"), (60, ""), (70, "b")):
        label_file.append(
            tmp_path / "state", Event(start + 0.05 * first - 0.025, label, start + 1e6)
        )
    more = ["--policy", str(tmp_path / "policy.toml"), "--time-column", "t"]
    more += ["--labels", "press", "--label-delay", "0.6"]
    arguments = command(url, f"jsonl:{tmp_path / 'hot.jsonl'}", tmp_path, *more)
    rng = random.Random(kills)
    with TinyAggregator(url, of) as server:
        for _ in range(kills):
            process = subprocess.Popen(
                arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(rng.uniform(0.6, 3.0))
            end(process)
        last = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            server.wait(lambda: bool(server.counted), 90)
        finally:
            end(last)
        ((payload,),) = server.reports(DEVICE).values()
    counted = (decode(payload, Report).blocks[0] * first_stage(of).grid).reshape(hot, 3)
    expected = np.zeros((hot, 3))
    expected[:60, 0] = expected[70:100, 1] = 1.0
    assert (counted == expected).all()


def test_delayed_labels_and_kills(mosquitto_url, tmp_path):
    learn_delayed_labels_with_kills(mosquitto_url, tmp_path, 3)


@pytest.mark.slow
def test_delayed_labels_and_twenty_kills(mosquitto_url, tmp_path):
    learn_delayed_labels_with_kills(mosquitto_url, tmp_path, 20)
