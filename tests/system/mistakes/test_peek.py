"""`fsir-agent peek` at a real broker, and `fsir-agent check` that fetches a task from it."""

from __future__ import annotations

import os
import pwd
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import paho.mqtt.client as mqtt
import pytest
from paho.mqtt.enums import CallbackAPIVersion

from fsir.wire.messages import Receipt, Verdict, encode, topic
from sim_devices.network.broker import LocalBroker
from sim_devices.network.probe import free_port, in_service
from tests.edge_agent.processes import end
from tests.edge_agent.world import DEVICE, data, simulated
from tests.fsir.tasks import task
from tests.needs import find, need
from tests.system.mistakes.said import ROOT, ended, mistake

pytestmark = pytest.mark.broker
PLAIN = task(name="activity")
DIGEST = PLAIN.digest.hex()[:16]


def publish(url: str, *messages: tuple[str, bytes]) -> None:
    """Each of them, retained."""
    client = mqtt.Client(CallbackAPIVersion.VERSION2)
    client.connect("127.0.0.1", int(url.rpartition(":")[2]))
    client.loop_start()
    for about, payload in messages:
        client.publish(about, payload, 1, retain=True).wait_for_publish(10)
    client.disconnect()
    client.loop_stop()


def everything() -> list[tuple[str, bytes]]:
    agent = simulated(PLAIN)
    agent.learn_many(*data(PLAIN, 100))
    (report,) = agent.outgoing(1.0)
    receipt = Receipt(PLAIN.digest, DEVICE, {"final": Verdict(b"r" * 16, "counted")})
    return [
        (topic("activity", "task"), PLAIN.encode()),
        (report.topic, report.payload),
        (topic("activity", "receipt", DEVICE), encode(receipt)),
        (topic("other", "task"), b"\xc1 garbage"),
        ("fsir/7/new", b"from the future"),
    ]


def peek(url: str, folder: Path, *more: str) -> str:
    done = ended(["fsir-agent", "peek", "--broker", url, "--seconds", "2", *more], folder)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return re.sub(r"(?m)^\d\d:\d\d:\d\d", "TIME", done.stdout)


def test_what_goes_over_the_broker_is_told(mosquitto_url: str, tmp_path: Path) -> None:
    messages = dict(everything())
    publish(mosquitto_url, *messages.items())
    said = peek(mosquitto_url, tmp_path)
    for about, payload in messages.items():
        assert f"TIME  {about}  ({len(payload):,} bytes, retained)\n    " in said
    assert f"    digest {DIGEST}, version 2, epoch 1: 3 features, response 'y'; gaussian" in said
    assert f"    the final report of {DEVICE} about 100 records, task {DIGEST}, report " in said
    assert f"    to {DEVICE}, task {DIGEST}: final report {'72' * 16} counted\n" in said
    assert "    cannot be read: not msgpack" in said
    assert "    not a topic of fsir/1, which this program speaks" in said
    assert "\n5 messages in 2 s at mqtt://127.0.0.1:" in said
    assert said.endswith(
        "task 2, report 1, receipt 1, other 1\n"
        "not seen: ask, active, subspace, presence. Nobody sent any meanwhile, or the broker does "
        "not let you read them: it does not say which\n"
    )


def test_one_task_is_enough_for_who_asks_for_it(mosquitto_url: str, tmp_path: Path) -> None:
    publish(mosquitto_url, *everything())
    said = peek(mosquitto_url, tmp_path, "--task", "activity")
    assert "3 messages in 2 s" in said
    assert "fsir/1/other" not in said


@contextmanager
def guarded_broker(folder: Path) -> Iterator[str]:
    """A mosquitto whose access list lets nobody read more than a device may."""
    need("mosquitto")
    port = free_port()
    acl = "topic write fsir/#\ntopic read fsir/1/+/task\ntopic read fsir/1/+/subspace\n"
    (folder / "acl").write_text(acl)
    user = pwd.getpwuid(os.getuid()).pw_name
    (folder / "mosquitto.conf").write_text(
        f"user {user}\nlistener {port} 127.0.0.1\nallow_anonymous true\nacl_file {folder}/acl\n"
    )
    command = [find("mosquitto") or "mosquitto", "-c", str(folder / "mosquitto.conf")]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        while not in_service(port):
            assert process.poll() is None
        yield f"mqtt://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


def test_what_the_broker_does_not_show_is_said(tmp_path: Path) -> None:
    with guarded_broker(tmp_path) as url:
        publish(url, *everything())
        said = peek(url, tmp_path)
    assert "report/" not in said
    assert "2 messages in 2 s" in said
    assert "not seen: ask, report, receipt, active, subspace, presence. Nobody sent" in said


def test_it_ends_on_ctrl_c_with_the_sum(mosquitto: LocalBroker, tmp_path: Path) -> None:
    publish(mosquitto.url, *everything())
    command = [sys.executable, "-m", "edge_agent", "peek", "--broker", mosquitto.url]
    process = subprocess.Popen(
        [*command, "--seconds", "0"], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        assert "fsir/" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        assert process.wait(20) == 0
    finally:
        end(process)
    assert "not seen: " in rest


def test_nobody_there(tmp_path: Path) -> None:
    line = ["fsir-agent", "peek", "--broker", "mqtt://127.0.0.1:9", "--seconds", "1"]
    done = ended(line, tmp_path)
    assert done.returncode == 2
    assert "Connection refused" in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last == "fsir-agent: mqtt://127.0.0.1:9 could not be reached in 1 s"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--seconds", "-1"], "--seconds -1.0: give a number of seconds, 0 or more"),
        (["--task", "a/#"], "--task a/#: give the name of one task, as in its topics"),
    ],
)
def test_mistakes(more: list[str], words: str, tmp_path: Path) -> None:
    line = ["fsir-agent", "peek", "--broker", "mqtt://127.0.0.1:9", *more]
    assert mistake(line, tmp_path) == f"fsir-agent: {words}"


# --- check --task NAME --broker URL ---------------------------------------------------------------


def test_check_fetches_a_task_by_its_name(mosquitto_url: str, tmp_path: Path) -> None:
    publish(mosquitto_url, *everything())
    line = ["fsir-agent", "check", "--broker", mosquitto_url, "--task"]
    done = ended([*line, "activity"], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Task 'activity', epoch 1, digest {DIGEST}")
    assert "This device would take part." in done.stdout
    assert mistake([*line, "other"], tmp_path).startswith(
        f"fsir-agent: --task other: what {mosquitto_url} keeps under this name is no task: not msg"
    )


@pytest.mark.long
def test_check_says_where_it_has_looked(mosquitto_url: str, tmp_path: Path) -> None:
    line = ["fsir-agent", "check", "--task", "nobody", "--broker", mosquitto_url]
    assert mistake(line, tmp_path) == (
        f"fsir-agent: --task nobody: {mosquitto_url} keeps no such task (waited for 15 s). "
        "Is the name right, and does the aggregator run?"
    )
