"""The memory of a device: one SQLite file with tasks, progress, ledger and outbox.

A report, its ledger row and its outbox row are one transaction, and so are accumulators and the position in the
source. What a transaction has not committed has not happened: after a crash at any moment the file says the truth.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge_agent.errors import StateError, StorageError
from edge_agent.records import START, Position
from edge_agent.state.database import FILE, Storage
from edge_agent.state.rows import LedgerRow, OutboxRow, Pin, Progress

_VERSION = 1
_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value);
CREATE TABLE tasks (name TEXT PRIMARY KEY, raw BLOB NOT NULL, source TEXT NOT NULL, active TEXT, subspace BLOB,
    stopped TEXT NOT NULL DEFAULT '', first INTEGER, last INTEGER, learned BLOB);
CREATE TABLE positions (task TEXT, source TEXT, ordinal INTEGER NOT NULL, cursor TEXT, PRIMARY KEY (task, source));
CREATE TABLE kept (id INTEGER PRIMARY KEY, task TEXT NOT NULL, n INTEGER NOT NULL, K BLOB, slices BLOB);
CREATE TABLE ledger (task TEXT NOT NULL, digest BLOB NOT NULL, stage TEXT NOT NULL, mechanism TEXT NOT NULL,
    mu REAL NOT NULL, epsilon REAL NOT NULL, delta REAL NOT NULL, numbers INTEGER NOT NULL, n INTEGER NOT NULL,
    source TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, made REAL NOT NULL, report BLOB NOT NULL,
    verdict TEXT NOT NULL, reason TEXT NOT NULL, UNIQUE (digest, stage));
CREATE TABLE outbox (report BLOB PRIMARY KEY, task TEXT NOT NULL, stage TEXT NOT NULL, topic TEXT NOT NULL,
    payload BLOB NOT NULL, not_before REAL NOT NULL);
"""
_LEDGER = ", ".join(field.name for field in fields(LedgerRow))
_LEDGER_MARKS = ", ".join("?" * len(fields(LedgerRow)))
_OUTBOX = ", ".join(field.name for field in fields(OutboxRow))

_RECOGNITION = "recognition:"  # of a task: no task has a name with a colon

Kept = tuple[NDArray[np.int16], NDArray[np.int64]]  # quantised rows, and their slices


class State:
    """The state of one device. `directory = None` keeps it in memory, for simulations and audits."""

    def __init__(
        self,
        directory: str | Path | None,
        device: str | None,
        *,
        simulated: bool = False,
        read_only: bool = False,
    ) -> None:
        self.device, self.simulated = device or "", simulated
        self._db = Storage(None if directory is None else Path(directory), read_only)
        try:
            self._prepare(read_only)
        except StorageError as error:
            self.close()
            raise StateError(
                f"{error}; or it is not the state of an agent: then use another directory"
            ) from error
        except BaseException:
            self.close()
            raise

    def _prepare(self, read_only: bool) -> None:
        ((version,),) = self._db.rows("PRAGMA user_version")
        if version == 0 and self.device and not read_only:
            with self._db.transaction():
                for statement in _SCHEMA.split(";"):
                    self._db.run(statement)
                about: list[tuple[Any, ...]] = [
                    ("device", self.device),
                    ("simulated", int(self.simulated)),
                ]
                self._db.run_many("INSERT INTO meta VALUES (?, ?)", about)
                self._db.run(f"PRAGMA user_version = {_VERSION}")
        elif version == 0:
            raise StateError(
                f"{self._db.where}: {FILE} is not the state of an agent; give the directory of one"
            )
        elif version != _VERSION:
            raise StateError(
                f"{self._db.where}: state of version {version}, this program reads {_VERSION}; update it"
            )
        meta = dict(self._db.rows("SELECT key, value FROM meta"))
        if not self.device:  # whoever only looks or forgets takes it as it is
            self.device, self.simulated = str(meta["device"]), bool(meta["simulated"])
        if meta["device"] != self.device:
            raise StateError(
                f"{self._db.where} belongs to device {meta['device']!r}, not to {self.device!r}: one directory per "
                "device, because the ledger is the device's"
            )
        if bool(meta["simulated"]) != self.simulated:
            kind = "simulated" if meta["simulated"] else "real"
            raise StateError(
                f"{self._db.where} was made by a {kind} agent, whose noise is of another kind; use another"
            )

    def close(self) -> None:
        """Let go of the file and of the lock."""
        self._db.close()

    # --- tasks ----------------------------------------------------------------------------------------------------

    def pin(self, name: str, raw: bytes, source: str) -> None:
        """Accept a task, for good."""
        with self._db.transaction():
            self._db.run(
                "INSERT INTO tasks (name, raw, source) VALUES (?, ?, ?)", name, raw, source
            )
            self._db.run("DELETE FROM meta WHERE key = ?", f"note:{name}")

    def pins(self) -> list[Pin]:
        """All tasks that were accepted."""
        found = self._db.rows(
            "SELECT name, raw, source, active, subspace, stopped FROM tasks ORDER BY name"
        )
        return [
            Pin(
                name,
                raw,
                source,
                None if active is None else tuple(json.loads(active)),
                subspace,
                stopped,
            )
            for name, raw, source, active, subspace, stopped in found
        ]

    def pinned(self, name: str) -> Pin | None:
        """The task of this name, if it was accepted."""
        return next((pin for pin in self.pins() if pin.name == name), None)

    def move(self, name: str, source: str) -> None:
        """From now on the task's records come from another source."""
        with self._db.transaction():
            self._db.run("UPDATE tasks SET source = ? WHERE name = ?", source, name)

    def stop(self, name: str, reason: str) -> None:
        """Take no further part, and remember why."""
        with self._db.transaction():
            self._db.run("UPDATE tasks SET stopped = ? WHERE name = ?", reason, name)

    def note(self, name: str, text: str) -> None:
        """Remember why a task was not accepted, for whoever asks for the status."""
        with self._db.transaction():
            self._db.run("INSERT OR REPLACE INTO meta VALUES (?, ?)", f"note:{name}", text)

    def notes(self) -> dict[str, str]:
        """Why tasks were not accepted, by name."""
        return dict(self._db.rows("SELECT substr(key, 6), value FROM meta WHERE key LIKE 'note:%'"))

    def keep_subspace(self, name: str, raw: bytes) -> None:
        """Remember the latest subspace, so that a device can serve without a broker."""
        with self._db.transaction():
            self._db.run("UPDATE tasks SET subspace = ? WHERE name = ?", raw, name)

    def pin_active(self, name: str, features: tuple[str, ...], progress: Progress) -> None:
        """Accept an active set, for good, with what the learned becomes under it; kept rows are needed no more."""
        with self._db.transaction():
            self._db.run("UPDATE tasks SET active = ? WHERE name = ?", json.dumps(features), name)
            self._save(name, progress, (), drop_kept=True)

    # --- progress -------------------------------------------------------------------------------------------------

    def progress(self, name: str) -> Progress:
        """What was saved last."""
        for source, *learned in self._db.rows(
            "SELECT source, first, last, learned FROM tasks WHERE name = ?", name
        ):
            return Progress(self.position(name, source), *learned)
        return Progress()

    def position(self, name: str, source: str) -> Position:
        """How far a task has come in a source."""
        return _position(
            self._db.rows(
                "SELECT ordinal, cursor FROM positions WHERE task = ? AND source = ?", name, source
            )
        )

    def recognised(self, name: str, source: str) -> Position:
        """How far the recognition of a task has come in a source: it has its own pace, and its own commits."""
        return self.position(f"{_RECOGNITION}{name}", source)

    def recognition(self, name: str) -> bytes | None:
        """What recognition has learned under a task."""
        found = self._db.rows("SELECT value FROM meta WHERE key = ?", f"{_RECOGNITION}{name}")
        return found[0][0] if found else None

    def keep_recognition(self, name: str, source: str, position: Position, learned: bytes) -> None:
        """Commit what recognition has learned, and the position that it belongs to."""
        with self._db.transaction():
            self._db.run(
                "INSERT OR REPLACE INTO meta VALUES (?, ?)", f"{_RECOGNITION}{name}", learned
            )
            self._put(f"{_RECOGNITION}{name}", source, position)

    def _put(self, name: str, source: str, position: Position) -> None:
        cursor = None if position.cursor is None else json.dumps(position.cursor)
        self._db.run(
            "INSERT OR REPLACE INTO positions VALUES (?, ?, ?, ?)",
            name,
            source,
            position.ordinal,
            cursor,
        )

    def last_position(self, source: str) -> Position:
        """The furthest that any task has come in a source."""
        query = (
            "SELECT ordinal, cursor FROM positions WHERE source = ? ORDER BY ordinal DESC LIMIT 1"
        )
        return _position(self._db.rows(query, source))

    def save(self, name: str, progress: Progress, kept: tuple[Kept, ...] = ()) -> None:
        """Commit accumulators, rows kept since the last time, and the position that they belong to."""
        with self._db.transaction():
            self._save(name, progress, kept, drop_kept=False)

    def _save(
        self, name: str, progress: Progress, kept: tuple[Kept, ...], *, drop_kept: bool
    ) -> None:
        self._db.run(
            "UPDATE tasks SET first = ?, last = ?, learned = ? WHERE name = ?",
            progress.first, progress.last, progress.learned, name,
        )  # fmt: skip
        if progress.position != START:
            for (source,) in self._db.rows("SELECT source FROM tasks WHERE name = ?", name):
                self._put(name, source, progress.position)
        rows: list[tuple[Any, ...]] = [
            (name, len(K), K.tobytes(), slices.tobytes()) for K, slices in kept
        ]
        self._db.run_many("INSERT INTO kept (task, n, K, slices) VALUES (?, ?, ?, ?)", rows)
        if drop_kept:
            self._db.run("DELETE FROM kept WHERE task = ?", name)

    def kept_count(self, name: str) -> int:
        """Number of rows kept for a second stage."""
        ((count,),) = self._db.rows("SELECT coalesce(sum(n), 0) FROM kept WHERE task = ?", name)
        return int(count)

    def kept(self, name: str, p: int) -> Iterator[Kept]:
        """The rows kept for a second stage, block by block."""
        for K, slices in self._db.each(
            "SELECT K, slices FROM kept WHERE task = ? ORDER BY id", name
        ):
            yield np.frombuffer(K, np.int16).reshape(-1, p), np.frombuffer(slices, np.int64)

    def forget(self, name: str, *, unpin: bool = False) -> None:
        """Delete what was learned and not reported, and for recognition; ledger, positions and outbox stay.

        With `unpin` another task may take this name; the ledger keeps what this one has spent.
        """
        if unpin and self.outbox(name):
            raise StateError(
                f"task {name!r} has a report without a receipt: run the agent until it is delivered"
            )
        with self._db.transaction():
            self._save(name, Progress(), (), drop_kept=True)
            self._db.run("DELETE FROM meta WHERE key = ?", f"{_RECOGNITION}{name}")
            if unpin:
                self._db.run("DELETE FROM tasks WHERE name = ?", name)
        self._db.run("VACUUM")

    # --- reports --------------------------------------------------------------------------------------------------

    def record_report(
        self, row: LedgerRow, out: OutboxRow, progress: Progress, *, drop_kept: bool
    ) -> None:
        """Spend: ledger, outbox and progress in one transaction. Only after this may the report be sent."""
        with self._db.transaction():
            self._db.run(f"INSERT INTO ledger ({_LEDGER}) VALUES ({_LEDGER_MARKS})", *astuple(row))
            self._db.run(f"INSERT INTO outbox ({_OUTBOX}) VALUES (?, ?, ?, ?, ?, ?)", *astuple(out))
            self._save(row.task, progress, (), drop_kept=drop_kept)

    def ledger(self, digest: bytes | None = None) -> list[LedgerRow]:
        """Every release of this device, across all its tasks, or those of one task."""
        found = [
            LedgerRow(*row) for row in self._db.rows(f"SELECT {_LEDGER} FROM ledger ORDER BY rowid")
        ]
        return [row for row in found if digest in (None, row.digest)]

    def outbox(self, task: str | None = None) -> list[OutboxRow]:
        """Reports without a receipt."""
        found = [
            OutboxRow(*row) for row in self._db.rows(f"SELECT {_OUTBOX} FROM outbox ORDER BY rowid")
        ]
        return [row for row in found if task in (None, row.task)]

    def settle(self, report: bytes, verdict: str, reason: str) -> None:
        """The aggregator has answered: clear the outbox, note the verdict in the ledger."""
        with self._db.transaction():
            self._db.run("DELETE FROM outbox WHERE report = ?", report)
            self._db.run(
                "UPDATE ledger SET verdict = ?, reason = ? WHERE report = ?",
                verdict,
                reason,
                report,
            )


def _position(found: list[tuple[Any, ...]]) -> Position:
    for ordinal, cursor in found:
        return Position(ordinal, None if cursor is None else json.loads(cursor))
    return START
