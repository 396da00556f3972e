"""Workers of one store: names, one leader per task, and what they tell each other.

All of it are locks and notices of a session: they are gone with the connection, and are asked for
again on the next one. Whoever has lost the lead without knowing it is stopped by the comparison of
`change` in the transaction that publishes.
"""

from __future__ import annotations

import time
from typing import Any

import psycopg

from aggregator.store.errors import StoreBusyError
from aggregator.store.postgres.link import PostgresLink, busy
from aggregator.store.tables.statements import Statements

CHANNEL = "fsir_published"
# Locks belong to a database, in which each schema may have a store.
LOCK = "hashtextextended(current_schema() || ':fsir:' || %s::text, 0)"
_JOIN_SECONDS = 20.0  # so long a worker that was killed may still seem to be there
_LOOK_SECONDS = 30.0  # a notice may get lost
_TRY_SECONDS = 1.0  # between two tries to become leader
_NAP_SECONDS = 0.5


class Workers(Statements):
    """The part of a store that knows the other workers."""

    _db: PostgresLink

    def __init__(self) -> None:
        self._worker = ""
        self._led: set[int] = set()
        self._tried: dict[int, float] = {}
        self._looked = float("-inf")
        self._heard = False

    def join(self, worker: str) -> None:
        """Add reports under this name, which nobody else may have at the same time."""
        deadline = time.monotonic() + _JOIN_SECONDS
        while not _locked(self._db.raw, f"worker:{worker}"):
            if time.monotonic() > deadline:
                raise StoreBusyError(
                    f"--worker {worker!r}: another worker of this name adds to the store; "
                    "give each its own --worker"
                )
            time.sleep(_NAP_SECONDS)
        self._worker = worker
        self._db.native(f"LISTEN {CHANNEL}")

    def _enter(self, raw: psycopg.Connection[Any]) -> None:
        """Take up again, on a new connection, what the last one had."""
        self._led.clear()
        self._tried.clear()
        self._heard = True
        raw.add_notify_handler(self._hear)
        if self._worker:
            if not _locked(raw, f"worker:{self._worker}"):
                raise StoreBusyError(
                    f"another worker adds to the store as {self._worker!r}, or our own last "
                    "connection has not ended yet; give each worker its own --worker"
                )
            raw.execute(f"LISTEN {CHANNEL}")

    def leads(self, task: int) -> bool:
        """Whether this worker is the one that estimates and chooses for a task."""
        raw = self._db.raw  # a new connection leads nothing
        now = time.monotonic()
        if task not in self._led and now >= self._tried.get(task, float("-inf")) + _TRY_SECONDS:
            self._tried[task] = now
            with busy():
                if _locked(raw, f"leader:{task}"):
                    self._led.add(task)
        return task in self._led

    def news(self) -> bool:
        """Whether another worker may have published something since the last call."""
        self._db.native("SELECT 1")  # notices come with the answer to anything
        now = time.monotonic()
        heard = self._heard or now >= self._looked + _LOOK_SECONDS
        self._heard = False
        if heard:
            self._looked = now
        return heard

    def _hear(self, notice: psycopg.Notify) -> None:
        self._heard = True

    def _tell(self) -> None:
        """Inside a transaction: with its end all workers hear that something is published."""
        self._db.native(f"NOTIFY {CHANNEL}")


def _locked(raw: psycopg.Connection[Any], name: str) -> bool:
    with busy():
        row = raw.execute(f"SELECT pg_try_advisory_lock({LOCK})", (name,)).fetchone()
    return bool(row and row[0])
