"""The daemon over real brokers: nothing lost or doubled, every device answered, whatever dies."""

from __future__ import annotations

import logging
import signal
from pathlib import Path
from typing import Any

import pytest

from aggregator import intake
from aggregator.core import Aggregator
from aggregator.store.sqlite import SqliteStore
from fsir.wire.decode import decode
from fsir.wire.messages import Subspace
from tests.aggregator.batches import subspace_of
from tests.aggregator.federations import make_task, topic
from tests.system.aggregator.daemons import (
    Devices,
    Serving,
    start_doomed,
    wait_for,
)
from tests.system.aggregator.fleets import TASK, check, reports


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
    """How many devices are in the subspace that is retained."""
    raw = devices.retained.get("subspace")
    return decode(raw, Subspace).devices if raw else 0


def test_a_trimmed_task_is_estimated_beside_the_intake(embedded_url: str, tmp_path: Path) -> None:
    trimmed = make_task(p=3, records=60, aggregation="trimmed")
    sent = reports(20, task=trimmed)
    with Serving(embedded_url, tmp_path / "s.db", trimmed):
        devices = Devices(embedded_url, trimmed)
        devices.send(sent)
        wait_for(lambda: _devices(devices) == 20, "the subspace")
        subspace = decode(devices.retained["subspace"], Subspace)
        devices.close()
    again = Aggregator(SqliteStore(tmp_path / "again.db"), [trimmed])
    again.start(0.0)
    for device, raw in reversed(sent.items()):
        again.take(topic(trimmed, device), raw)
    again.commit(1.0)
    expected = subspace_of(again.estimate(2.0))
    assert subspace.basis.tobytes() == expected.basis.tobytes()


@pytest.mark.broker
@pytest.mark.parametrize("point", ["committed", "acknowledged"])
def test_a_kill_between_commit_acknowledgement_and_receipt(
    mosquitto_url: str, tmp_path: Path, point: str
) -> None:
    store = tmp_path / "s.db"
    sent = reports(30)
    devices = Devices(mosquitto_url, TASK)
    with start_doomed(mosquitto_url, store, TASK, point) as doomed:
        wait_for(lambda: "task" in devices.retained, "the first daemon")
        devices.send(sent)
        assert doomed.wait(60) == -signal.SIGKILL
    assert devices.answers == {}  # it died before it could answer
    with Serving(mosquitto_url, store, TASK, client_id="test") as serving:
        # What was not acknowledged comes from the broker; what was, devices send again until it is
        # answered.
        if point == "acknowledged":
            devices.send(sent)
        devices.wait(sent)
        assert serving.verdicts.get(("test", "counted"), 0) < 30
        devices.send(sent)  # devices whose patience ended do no harm
        wait_for(lambda: serving.verdicts.get(("test", "duplicate"), 0) >= 30, "the repetitions")
    devices.close()
    check(store, 30)


@pytest.mark.broker
def test_many_kills_at_every_point(mosquitto_url: str, tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    sent = reports(60)
    devices = Devices(mosquitto_url, TASK)
    names = list(sent)
    for turn in range(6):
        point = ("committed", "acknowledged", "answered")[turn % 3]
        with start_doomed(mosquitto_url, store, TASK, point) as doomed:
            # From then on the broker keeps its queue.
            wait_for(lambda: "task" in devices.retained, "the first daemon")
            devices.send({name: sent[name] for name in names[10 * turn : 10 * turn + 10]})
            assert doomed.wait(60) == -signal.SIGKILL
    with Serving(mosquitto_url, store, TASK, client_id="test"):
        unanswered = {name: raw for name, raw in sent.items() if not devices.answered(name, raw)}
        devices.send(unanswered)  # as devices do
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
def test_workers_share_the_reports_of_one_store(mosquitto_url: str, tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    sent = reports(60)
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
