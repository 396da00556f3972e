"""`fsir-agent run --predict`: silent on the wire, from raw samples and a button to an answer."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from edge_agent.cli import main
from edge_agent.labels import file as label_file
from edge_agent.labels.timeline import EXPIRES_SECONDS, Event
from edge_agent.signal.grid import HOP, RATE
from fsir.wire.messages import Active, encode, topic
from sim_devices.datasets import hapt
from sim_devices.datasets.population import ACTIVITIES, LEVEL_OF
from sim_devices.scenarios import scenarios
from sim_devices.scenarios.evaluation import without_network
from sim_devices.scenarios.tasks import Setting, build
from tests.edge_agent.aggregators import TinyAggregator
from tests.edge_agent.processes import command, end, willing, write_jsonl
from tests.fsir.tasks import task
from tests.system.agent.tap import Tap


@pytest.mark.broker
def test_recognition_changes_no_byte_on_the_wire(mosquitto_url, tmp_path):
    """The same device, serving the same records from the same state, with and without --predict.

    Under a task of version 1: a copy of the state would be told from the original.
    """
    of = task(version=1)
    source = write_jsonl(tmp_path / "data.jsonl", of, 100)
    sent = {}
    lines = {}
    with TinyAggregator(mosquitto_url, of):
        more = ["--once", *willing(tmp_path)]
        arguments = command(mosquitto_url, f"jsonl:{source}", tmp_path, *more)
        assert subprocess.run(arguments, capture_output=True, timeout=60).returncode == 0
        with source.open("a") as file:
            file.write(write_jsonl(tmp_path / "more.jsonl", of, 200).read_text())
        for more in ((), ("--predict",)):
            folder = tmp_path / f"with{len(more)}"
            shutil.copytree(tmp_path / "state", folder / "state")
            served = folder / "served.jsonl"
            with Tap(mosquitto_url) as tap:
                arguments = command(
                    tap.url, f"jsonl:{source}", folder, "--follow", "--output", str(served), *more
                )
                process = subprocess.Popen(arguments, stderr=subprocess.DEVNULL)
                try:
                    deadline = time.monotonic() + 90
                    while not (served.exists() and served.read_text().count("\n") == 200):
                        assert time.monotonic() < deadline, tap.sent
                        time.sleep(0.05)
                    process.send_signal(signal.SIGTERM)
                    assert process.wait(30) == 0
                finally:
                    end(process)
            sent[more] = tap.packets()
            lines[more] = served.read_text().splitlines()
    assert sent[()] == sent["--predict",]
    plain, recognised = ([json.loads(line) for line in lines[more]] for more in lines)
    new = {"answer", "activity", "confidence", "by"}
    assert [{k: v for k, v in line.items() if k not in new} for line in recognised] == plain
    # This subspace carries no classifier.
    assert {line.get("by") for line in recognised} == {None, "device"}


def test_without_river_the_way_to_get_it_is_said(tmp_path):
    code = """
import sys
sys.modules["river"] = None
from edge_agent.labels import file as label_file
from edge_agent.cli import main
sys.exit(main(["run", "--broker", "mqtt://127.0.0.1:9", "--task", "t", "--device", "d",
               "--source", "jsonl:-", "--state", sys.argv[1], "--predict"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "s")],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert "pip install 'fsir-edge[river]'" in done.stderr
    assert not (tmp_path / "s").exists()


class WholeAggregator(TinyAggregator):
    """One that has the subspace of others already."""

    def __init__(self, url, of, known):
        super().__init__(url, of, active=known.features)
        active = encode(Active(of.digest, known.features, 20))
        self.publish(topic(of.name, "active"), active, retain=True)
        self.publish(topic(of.name, "subspace"), encode(known), retain=True)

    def emit(self):
        pass


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.broker
def test_from_raw_samples_and_a_button_to_recognition(data_dir, mosquitto_url, tmp_path, capsys):
    """One of the people who took no part: 50 Hz samples, labels pressed by time.

    The whole agent is in between.
    """
    scenario = scenarios.hapt(data_dir / "hapt", True, "subject-01")
    setting = Setting(epsilon=1.0, delta=1e-6, unit_records=2, dimension=2)
    of = replace(build(scenario.population, scenario.geometry, setting), name="test")
    known = without_network(of, scenario.population.devices, 0)
    (person,) = (stream for stream in scenario.population.unseen if stream.device == "subject-02")
    recordings = hapt.read_recordings(data_dir / "hapt")
    (tmp_path / "state").mkdir()
    with (tmp_path / "raw.csv").open("w") as file:
        file.write("time,acc_x,acc_y,acc_z,gyro_x,gyro_y,gyro_z\n")
        for first, rows in hapt._layout(recordings, 2):
            times = (first * HOP + np.arange(len(rows)) + 0.5) / RATE
            table = np.column_stack([times, recordings.acc[rows], recordings.gyro[rows]])
            np.savetxt(file, table, fmt="%.6f", delimiter=",")
            activity = recordings.activity[rows]
            for at in (0, *(np.flatnonzero(np.diff(activity)) + 1)):
                named = 1 <= activity[at] <= len(ACTIVITIES)
                label = LEVEL_OF[ACTIVITIES[activity[at] - 1]] if named else ""
                label_file.append(
                    tmp_path / "state",
                    Event(float(times[at]) - 0.01, label, float(times[at]) + EXPIRES_SECONDS),
                )
            label_file.append(
                tmp_path / "state",
                Event(float(times[-1]) + 0.01, "", float(times[-1]) + EXPIRES_SECONDS),
            )
    with WholeAggregator(mosquitto_url, of, known):
        more = ("--predict", "--acc-range", "2", "--gyro-range", "10")
        arguments = command(mosquitto_url, f"signals:{tmp_path / 'raw.csv'}", tmp_path, *more)
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stderr
    main(["status", "--json", "--state", str(tmp_path / "state")])
    (told,) = json.loads(capsys.readouterr().out)["tasks"]
    # Windows over a change of level have no label; the simulator leaves them out as well.
    assert 0 <= len(person) - told["recognition"]["labelled"] <= 3
    assert told["recognition"]["accuracy"]["said"] >= 0.97
    assert told["recognition"]["drift"] is None
    assert {json.loads(line)["answer"] for line in done.stdout.splitlines()} == set(
        of.response.classes
    )
