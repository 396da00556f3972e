"""Named points of the product at which a process can end, and how to end it there."""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Callable
from typing import Any

from aggregator.results.estimates import Estimating, Estimation
from aggregator.store.postgres.store import PostgresStore
from aggregator.store.sqlite import SqliteStore
from edge_agent.mqtt.connection import Connection
from edge_agent.state.state import State

# Where: class, method, and whether the end comes before it or right after it. `_save` and
# `put_totals` run inside of a transaction, so that right after them it has been written and not
# committed.
AGENT = {
    "task accepted": (State, "pin", "after"),
    "checkpoint written": (State, "save", "after"),
    "transaction open": (State, "_save", "after"),
    "active set accepted": (State, "pin_active", "after"),
    "number drawn": (State, "keep_instances", "before"),
    "number written": (State, "keep_instances", "after"),
    "noise drawn": (State, "record_report", "before"),
    "report written": (State, "record_report", "after"),
    "report about to leave": (Connection, "publish", "before"),
    "report sent": (Connection, "publish", "after"),
    "receipt read": (State, "settle", "before"),
    "receipt written": (State, "settle", "after"),
}
_ABOUT_REPORTS = ("report about to leave", "report sent")  # not about the asks before them
AGGREGATOR_STORE = {
    "number held, not committed": (SqliteStore, "put_instances", "after"),
    "totals written, not committed": (SqliteStore, "put_totals", "after"),
    "active set written, not committed": (SqliteStore, "put_published", "after"),
}
AGGREGATOR_CELL = {
    "part written, not committed": (PostgresStore, "put_part", "after"),
    "estimate begun": (Estimation, "run", "before"),
    "estimate made": (Estimating, "publish", "before"),
    "estimate written, not committed": (PostgresStore, "put_published", "after"),
}
AGGREGATOR_LOOP = ("committed", "acknowledged", "answered")  # of `aggregator.daemon.Daemon`
AGGREGATOR = (*AGGREGATOR_STORE, *AGGREGATOR_LOOP)
CLASSES = AGENT | AGGREGATOR_STORE | AGGREGATOR_CELL


class CrashError(BaseException):
    """The end of an agent that lives inside of the test: nobody catches it by accident."""


def crash() -> None:
    """End an agent that lives inside of the test."""
    raise CrashError


def power_cut() -> None:
    """End this process as a power cut would."""
    os.kill(os.getpid(), signal.SIGKILL)


class Countdown:
    """Ends something when it is reached for the k-th time."""

    def __init__(self, times: int, end: Callable[[], None]) -> None:
        self._left = times
        self._end = end

    def __call__(self) -> None:
        self._left -= 1
        if self._left == 0:
            self._end()


def around(
    method: Callable[..., Any], when: str, act: Callable[[], None], word: str = ""
) -> Callable[..., Any]:
    """The method with something that happens before or after it.

    If a word is given, only where it is in a text that the method is called with.
    """

    @functools.wraps(method)
    def wrapped(*values: Any, **options: Any) -> Any:
        meant = not word or any(isinstance(value, str) and word in value for value in values)
        if when == "before" and meant:
            act()
        result = method(*values, **options)
        if when == "after" and meant:
            act()
        return result

    return wrapped


def arm_class(point: str, times: int) -> None:
    """In a child process: the point is in a class of the agent or of the aggregator's store."""
    owner, name, when = CLASSES[point]
    countdown = Countdown(times, power_cut)
    setattr(owner, name, around(getattr(owner, name), when, countdown, _word(point)))
    if owner is SqliteStore:  # or the same point of the other engine, which adds to parts
        name = {"put_totals": "put_part"}.get(name, name)
        setattr(PostgresStore, name, around(getattr(PostgresStore, name), when, countdown))


def _word(point: str) -> str:
    return "/report/" if point in _ABOUT_REPORTS else ""


def arm_objects(point: str, times: int, *objects: Any) -> None:
    """In this process: the point is in one of these objects of one device."""
    owner, name, when = AGENT[point]
    for thing in objects:
        if isinstance(thing, owner):
            countdown = Countdown(times, crash)
            setattr(thing, name, around(getattr(thing, name), when, countdown, _word(point)))
