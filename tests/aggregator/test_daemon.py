"""The daemon over real brokers: nothing lost, nothing doubled, every device gets its answer, whatever dies."""

from __future__ import annotations

import logging
import os
import pwd
import shutil
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from aggregator import intake
from aggregator import merging as counting
from aggregator.core import Aggregator
from aggregator.store.sqlite import SqliteStore
from fsir.errors import LoginRefusedError
from fsir.task.task import Task
from fsir.wire import messages
from fsir.wire.decode import decode
from fsir.wire.messages import Subspace
from sim_devices.network.broker import LocalBroker, find_mosquitto
from tests.aggregator.daemons import Devices, Serving, plain_mosquitto, start_doomed, wait_for
from tests.aggregator.federations import make_task, report

TASK = make_task(p=3, records=60)
needs_mosquitto = pytest.mark.skipif(
    find_mosquitto() is None, reason="NOT TESTED: mosquitto is not on PATH"
)


def reports(count: int, prefix: str = "d", task: Task = TASK) -> dict[str, bytes]:
    return {f"{prefix}{i}": report(task, f"{prefix}{i}", i) for i in range(count)}


def check(path: Path, devices: int) -> None:
    """The store counts exactly so many devices, and its sums are those of its reports."""
    store = SqliteStore(path)
    made = Aggregator(store, [TASK])
    made.start(0.0)
    assert store.totals(1, "final").devices == devices
    assert counting.agrees(store, made.federations["test"], "final")
    store.close()


@pytest.mark.broker
@pytest.mark.parametrize("version", ["5", "3.1.1", None])
def test_reports_are_counted_answered_and_estimated(
    mosquitto_url: str, tmp_path: Path, version: str | None
) -> None:
    sent = reports(40)
    with Serving(mosquitto_url, tmp_path / "s.db", TASK, version=version) as serving:
        devices = Devices(mosquitto_url, TASK)
        devices.send(sent)
        devices.wait(sent)
        wait_for(lambda: _devices(devices) == 40, "the subspace")
        assert devices.retained["task"] == TASK.encode()
        assert serving.verdicts == {("test", "counted"): 40}
        devices.send({"d3": sent["d3"]})
        wait_for(
            lambda: devices.answered("d3", sent["d3"]) == "duplicate", "the answer to a repetition"
        )
        devices.close()
    check(tmp_path / "s.db", 40)


def _devices(devices: Devices) -> int:
    found = (
        decode(devices.retained["subspace"], Subspace) if devices.retained.get("subspace") else None
    )
    return found.devices if isinstance(found, messages.Subspace) else 0


def test_the_embedded_broker_will_do(embedded_url: str, tmp_path: Path) -> None:
    sent = reports(10)
    with Serving(
        embedded_url, tmp_path / "s.db", TASK
    ):  # it speaks 3.1.1 only, and says nothing to version 5
        devices = Devices(embedded_url, TASK)
        devices.send(sent)
        devices.wait(sent)
        devices.close()
    check(tmp_path / "s.db", 10)


def test_a_trimmed_task_is_estimated_beside_the_intake(embedded_url: str, tmp_path: Path) -> None:
    trimmed = make_task(p=3, records=60, aggregation="trimmed")
    sent = reports(20, task=trimmed)
    with Serving(embedded_url, tmp_path / "s.db", trimmed):
        devices = Devices(embedded_url, trimmed)
        devices.send(sent)
        wait_for(lambda: _devices(devices) == 20, "the subspace")
        found = decode(devices.retained["subspace"], Subspace)
        devices.close()
    again = Aggregator(SqliteStore(tmp_path / "again.db"), [trimmed])
    again.start(0.0)
    for device, raw in reversed(sent.items()):
        again.take(messages.topic("test", "report", device), raw)
    again.commit(1.0)
    (expected,) = [decode(p.payload, Subspace) for p in again.estimate(2.0)]
    assert isinstance(found, messages.Subspace)
    assert isinstance(expected, messages.Subspace)
    assert found.basis.tobytes() == expected.basis.tobytes()


@pytest.mark.broker
@pytest.mark.parametrize("point", ["committed", "acknowledged"])
def test_a_kill_between_commit_acknowledgement_and_receipt(
    mosquitto_url: str, tmp_path: Path, point: str
) -> None:
    store, sent = tmp_path / "s.db", reports(30)
    devices = Devices(mosquitto_url, TASK)
    with start_doomed(mosquitto_url, store, TASK, point) as doomed:
        wait_for(lambda: "task" in devices.retained, "the first daemon")
        devices.send(sent)
        assert doomed.wait(60) == -signal.SIGKILL
    assert devices.answers == {}  # it died before it could answer
    with Serving(mosquitto_url, store, TASK, client_id="test") as serving:
        # Nobody sends anything again: what was not acknowledged comes from the broker, what was comes from the store.
        devices.wait(sent)
        assert serving.verdicts.get(("test", "counted"), 0) < 30
        devices.send(sent)  # devices whose patience ended do no harm
        wait_for(lambda: serving.verdicts.get(("test", "duplicate"), 0) >= 30, "the repetitions")
    devices.close()
    check(store, 30)


@pytest.mark.broker
def test_many_kills_at_every_point(mosquitto_url: str, tmp_path: Path) -> None:
    store, sent = tmp_path / "s.db", reports(60)
    devices = Devices(mosquitto_url, TASK)
    names = list(sent)
    for turn in range(6):
        point = ("committed", "acknowledged", "answered")[turn % 3]
        with start_doomed(mosquitto_url, store, TASK, point) as doomed:
            wait_for(
                lambda: "task" in devices.retained, "the first daemon"
            )  # from then on the broker keeps its queue
            devices.send({name: sent[name] for name in names[10 * turn : 10 * turn + 10]})
            assert doomed.wait(60) == -signal.SIGKILL
    with Serving(mosquitto_url, store, TASK, client_id="test"):
        devices.send(
            {name: raw for name, raw in sent.items() if not devices.answered(name, raw)}
        )  # as devices do
        devices.wait(sent)
    devices.close()
    check(store, 60)


@pytest.mark.broker
def test_an_exception_on_one_message_does_not_end_the_intake(
    mosquitto_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    real = intake.parse

    def fails_on_one(arrival: intake.Arrival, federations: Any) -> None:
        real(arrival, federations)
        if arrival.device == "d0":
            raise RuntimeError("never foreseen")

    monkeypatch.setattr(intake, "parse", fails_on_one)
    sent = reports(5)
    with (
        Serving(mosquitto_url, tmp_path / "s.db", TASK) as serving,
        caplog.at_level(logging.CRITICAL),
    ):
        devices = Devices(mosquitto_url, TASK)
        devices.send({"d0": sent.pop("d0")})
        wait_for(lambda: devices.answers.get("d0"), "the answer to the failure")
        devices.send(sent)
        devices.wait(sent)
        assert devices.answers["d0"].verdicts["final"].reason.startswith("internal error")
        assert serving.healthy
        devices.close()
    check(tmp_path / "s.db", 4)


@pytest.mark.broker
def test_a_broker_that_dies_is_found_again_and_told_everything(
    mosquitto: LocalBroker, tmp_path: Path
) -> None:
    sent = reports(20)
    with Serving(mosquitto.url, tmp_path / "s.db", TASK) as serving:
        devices = Devices(mosquitto.url, TASK)
        devices.send({name: sent[name] for name in list(sent)[:10]})
        devices.wait({name: sent[name] for name in list(sent)[:10]})
        wait_for(lambda: "subspace" in devices.retained, "the subspace")
        mosquitto.kill()  # and forgets all that it has not saved: that is, everything
        wait_for(lambda: not serving.healthy, "the loss to be noticed")
        mosquitto.restart()
        wait_for(lambda: serving.healthy, "the new connection")
        late = Devices(mosquitto.url, TASK)
        wait_for(lambda: {"task", "subspace"} <= set(late.retained), "the retained messages")
        late.send(sent)
        late.wait(sent)
        late.close()
        devices.close()
    check(tmp_path / "s.db", 20)


@needs_mosquitto
@pytest.mark.broker
@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_a_broker_with_a_small_window_does_not_stall_us(tmp_path: Path, version: str) -> None:
    sent = reports(150)
    # As Debian ships it: 20 messages in flight. Half a batch must not wait for the other half.
    with plain_mosquitto() as url, Serving(url, tmp_path / "s.db", TASK, version=version):
        devices = Devices(url, TASK)
        devices.send(sent)
        devices.wait(sent)
        devices.close()
    check(tmp_path / "s.db", 150)


@pytest.mark.broker
def test_workers_share_the_reports_of_one_store(mosquitto_url: str, tmp_path: Path) -> None:
    store, sent = tmp_path / "s.db", reports(60)
    with (
        Serving(mosquitto_url, store, TASK, client_id="one", share="workers") as one,
        Serving(mosquitto_url, store, TASK, client_id="two", share="workers") as two,
    ):
        devices = Devices(mosquitto_url, TASK)
        devices.send(sent)
        devices.wait(sent)
        assert one.verdicts[("test", "counted")] + two.verdicts[("test", "counted")] == 60
        wait_for(lambda: _devices(devices) == 60, "the subspace of both")
        devices.close()
    check(store, 60)


@pytest.mark.broker
def test_a_withdrawal_from_outside_reaches_the_wire(mosquitto_url: str, tmp_path: Path) -> None:
    sent = reports(5)
    with Serving(mosquitto_url, tmp_path / "s.db", TASK):
        devices = Devices(mosquitto_url, TASK)
        devices.send(sent)
        wait_for(lambda: _devices(devices) == 5, "the subspace")
        elsewhere = Aggregator(SqliteStore(tmp_path / "s.db"), [TASK])
        elsewhere.start(0.0)
        elsewhere.withdraw("d2", 1.0)
        elsewhere.store.close()
        wait_for(lambda: _devices(devices) == 4, "the subspace without it")
        devices.close()


@needs_mosquitto
@pytest.mark.broker
def test_a_refused_login_is_final_and_says_what_to_check(tmp_path: Path) -> None:
    with plain_mosquitto("allow_anonymous false") as url:
        serving = Serving(url, tmp_path / "s.db", TASK, connect=False)
        with serving:
            wait_for(lambda: serving.error, "the refusal")
        assert isinstance(serving.error, LoginRefusedError)
        assert "check user name, password" in str(serving.error)


@needs_mosquitto
@pytest.mark.broker
@pytest.mark.skipif(shutil.which("openssl") is None, reason="NOT TESTED: openssl is not on PATH")
@pytest.mark.parametrize("version", ["5", "3.1.1"])
def test_the_same_over_tls(tmp_path: Path, version: str) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    subprocess.run(
        [*command.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True
    )
    user = pwd.getpwuid(
        os.getuid()
    ).pw_name  # started by root mosquitto would become somebody who cannot read the key
    config = f"allow_anonymous true\nuser {user}\ncertfile {certificate}\nkeyfile {key}\n"
    sent = reports(200)
    with plain_mosquitto(config) as url:
        url = url.replace("mqtt:", "mqtts:")
        with Serving(url, tmp_path / "s.db", TASK, version=version, ca=str(certificate)):
            devices = Devices(url, TASK, ca=str(certificate))
            devices.send(sent)
            devices.wait(sent)
            devices.close()
    check(tmp_path / "s.db", 200)


def test_without_a_broker_it_waits_and_stops_when_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        caplog.at_level(logging.WARNING),
        Serving("mqtt://127.0.0.1:9", tmp_path / "s.db", TASK, connect=False) as serving,
    ):
        wait_for(lambda: "refused" in caplog.text, "a warning")
        assert not serving.healthy
    assert threading.active_count() < 20


@pytest.mark.broker
def test_garbage_on_the_wire_is_a_lost_connection_and_nothing_more(tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"mqtt://127.0.0.1:{server.getsockname()[1]}"
        with Serving(url, tmp_path / "s.db", TASK, connect=False) as serving:
            for _ in range(3):
                peer, _ = server.accept()
                with peer:
                    peer.recv(1000)
                    peer.sendall(b"\x20\x02\x00\x00" + b"\x32\x05\x00\xffxyz" + bytes(range(256)))
            assert serving.error is None
