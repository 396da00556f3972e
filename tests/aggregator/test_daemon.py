"""The daemon without a broker: how long it waits, for a connection and for its store."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aggregator.daemon import Daemon
from aggregator.mqtt.wire import ConnectionLostError
from aggregator.store.errors import StoreBusyError
from fsir.net.backoff import Delays
from fsir.net.broker import Broker
from tests.aggregator.batches import started
from tests.aggregator.federations import make_task, report, topic

TASK = make_task(p=3, records=60)


class Steady(random.Random):
    """No jitter: the middle of whatever is asked for."""

    def uniform(self, a: float, b: float) -> float:
        return (a + b) / 2


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    made = Daemon(
        started(tmp_path / "s.db", TASK),
        Broker.parse("mqtt://127.0.0.1:9"),
        delays=Delays(first=0.5, longest=3.0),
        rng=Steady(),
    )
    yield made
    made.aggregator.store.close()


@pytest.fixture
def waits(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that the daemon has waited; it is stopped when it begins to do so the sixth time."""
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 6:
            daemon.stop()

    monkeypatch.setattr(daemon, "_sleep", sleep)
    return waited


def test_without_a_broker_it_waits_longer_and_longer_up_to_a_limit(
    daemon: Daemon, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> None:
        raise ConnectionLostError("connection refused")

    monkeypatch.setattr(daemon._connector, "open", refused)
    daemon.run()
    assert waits == [1.0, 2.0, 3.0, 3.0, 3.0, 3.0]
    assert daemon.health()["ok"] is False


def test_after_a_lost_connection_it_comes_back_soon(
    daemon: Daemon, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = iter([False, False, True, False, True, True])

    def session() -> None:
        daemon._health.connected = next(sessions)
        raise ConnectionLostError("the broker has closed the connection")

    monkeypatch.setattr(daemon, "_session", session)
    daemon.run()
    assert waits == [1.0, 2.0, 0.5, 1.0, 0.5, 0.5]


def test_while_the_store_is_busy_nothing_is_answered(
    daemon: Daemon,
    waits: list[float],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    honest = daemon.aggregator.commit
    healths = []

    def busy(now: float) -> list[object]:
        healths.append(daemon.health()["store"])
        if len(healths) < 5:
            raise StoreBusyError("database or disk is full")
        return list(honest(now))

    monkeypatch.setattr(daemon.aggregator, "commit", busy)
    daemon.aggregator.take(topic(TASK, "a"), report(TASK, "a", 1))
    with caplog.at_level(logging.ERROR):
        assert len(daemon._commit()) == 1
    assert waits == [0.5, 1.0, 2.0, 3.0]
    assert healths == ["ok"] + ["database or disk is full"] * 4
    assert daemon.health()["store"] == "ok"
    assert "nothing is acknowledged; again in 2.0 s" in caplog.text


def test_a_store_out_of_reach_at_a_new_connection_is_named(
    daemon: Daemon, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody connects to a broker without a store: HAProxy and operators read why."""

    def away(now: float) -> None:
        raise StoreBusyError("connection to server failed")

    monkeypatch.setattr(daemon.aggregator, "start", away)
    daemon.run()
    assert waits == [1.0, 2.0, 3.0, 3.0, 3.0, 3.0]
    health = daemon.health()
    assert (health["ok"], health["store"]) == (False, "connection to server failed")


def test_a_store_out_of_reach_is_looked_at_less_and_less_often(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """While no report comes in; as soon as it is back all is well."""
    honest = daemon.aggregator.tick

    def away(now: float) -> None:
        raise StoreBusyError("connection to server failed")

    wire: Any = SimpleNamespace(publish=lambda publications: None)
    looks = []
    with monkeypatch.context() as still:
        still.setattr(time, "monotonic", lambda: 100.0)
        still.setattr(daemon.aggregator, "tick", away)
        for _ in range(5):
            daemon._next_look = 0.0
            daemon._timers(wire)
            looks.append(daemon._next_look - 100.0)
    assert looks == [0.5, 1.0, 2.0, 3.0, 3.0]
    assert daemon.health()["store"] == "connection to server failed"
    assert daemon.aggregator.tick == honest
    daemon._next_look = 0.0
    daemon._timers(wire)
    assert daemon.health()["store"] == "ok"
    assert daemon._looks == 0


def test_a_stop_while_the_store_is_busy_ends_the_wait(
    daemon: Daemon, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(now: float) -> None:
        raise StoreBusyError("database is locked")

    monkeypatch.setattr(daemon.aggregator, "commit", busy)
    with pytest.raises(ConnectionLostError, match="stopped while the store could not be written"):
        daemon._commit()
    assert len(waits) == 6


def test_by_itself_it_waits_half_a_second_to_half_a_minute_give_or_take_half(
    tmp_path: Path,
) -> None:
    """A fleet of workers that lost its broker must not come back as one wave."""
    aggregator = started(tmp_path / "s.db", TASK)
    daemon = Daemon(aggregator, Broker.parse("mqtt://127.0.0.1:9"))
    assert daemon._delays == Delays(first=0.5, longest=30.0)
    waits = {daemon._delays.after(0, daemon._rng) for _ in range(50)}
    assert len(waits) > 40
    assert 0.25 <= min(waits) < max(waits) <= 0.75
    aggregator.store.close()


def test_pages_get_what_status_prints_and_the_health_of_the_daemon(daemon: Daemon) -> None:
    """In the thread of a page, beside the one that owns the store."""
    daemon.aggregator.take(topic(TASK, "a"), report(TASK, "a", 1))
    daemon.aggregator.commit(1.0)
    with ThreadPoolExecutor(1) as elsewhere:
        shown = elsewhere.submit(daemon.overview).result(60)
    (task,) = shown["tasks"]
    assert (task["task"], task["progress"]["counted"]) == ("test", 1)
    assert shown["health"] == daemon.health()
    assert shown["health"]["broker"] == "not connected yet"


def test_why_there_is_no_connection_is_part_of_its_health(
    daemon: Daemon, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> None:
        raise ConnectionLostError("mqtt://127.0.0.1:9: connection refused")

    monkeypatch.setattr(daemon._connector, "open", refused)
    daemon.run()
    assert daemon.health()["broker"] == "mqtt://127.0.0.1:9: connection refused"
    assert daemon.health()["connections"] == 0


def test_who_is_thrown_out_at_once_says_so_from_the_third_time_on_and_waits_longer(
    daemon: Daemon,
    waits: list[float],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def session() -> None:
        daemon._health.connect()
        daemon._opened = time.monotonic()
        raise ConnectionLostError("the broker has closed the connection")

    monkeypatch.setattr(daemon, "_session", session)
    with caplog.at_level(logging.WARNING):
        daemon.run()
    assert waits == [0.5, 0.5, 0.5, 1.0, 2.0, 3.0]
    said = [r.getMessage() for r in caplog.records if "--worker" in r.getMessage()]
    assert len(said) == 4
    assert "connected as 'fsir-aggregator', too" in said[0]
    assert "next attempt in 0.5 s" in said[0]
