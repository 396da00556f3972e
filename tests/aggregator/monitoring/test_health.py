"""What `/healthz` says in each state that a daemon can be in."""

from __future__ import annotations

import time

import pytest

from aggregator.monitoring.health import Health


def connected(unshared: str = "") -> Health:
    health = Health(lambda: unshared)
    health.connect()
    return health


def test_without_a_connection_it_is_not_well_and_says_why() -> None:
    health = Health(lambda: "")
    assert (health.shown()["ok"], health.shown()["broker"]) == (False, "not connected yet")
    health.fail("connection refused")
    assert health.shown()["broker"] == "connection refused"
    health.connect()
    assert (health.shown()["ok"], health.shown()["broker"]) == (True, "ok")
    health.disconnect()
    assert not health.shown()["ok"]


def test_connections_are_counted_and_since_tells_the_last_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(time, "time", lambda: 0.0)
    health = connected()
    monkeypatch.setattr(time, "time", lambda: 60.0)
    assert "00:00" in str(health.shown()["since"])
    health.disconnect()
    monkeypatch.setattr(time, "time", lambda: 120.0)
    health.disconnect()  # it was lost already
    assert "00:01" in str(health.shown()["since"])
    health.connect()
    assert "00:02" in str(health.shown()["since"])
    assert health.shown()["connections"] == 2


@pytest.mark.parametrize("part", ["store", "share"])
def test_what_cannot_be_used_is_named(part: str) -> None:
    health = connected("nothing is delivered" if part == "share" else "")
    health.trouble = "nothing is delivered" if part == "store" else ""
    assert not health.shown()["ok"]
    assert health.shown()[part] == "nothing is delivered"


def test_who_stands_still_is_not_well_and_says_what_it_may_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A commit that waits for a standby which is gone has no error, and no end."""
    health = connected()
    assert (health.shown()["ok"], health.shown()["store"]) == (True, "ok")
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 61.0)
    assert (health.shown()["ok"], health.shown()["turning"]) == (False, False)
    assert "standby" in str(health.shown()["store"])
    health.turn()
    assert health.shown()["ok"]
