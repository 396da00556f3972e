"""The memory of a device: one SQLite file with tasks, progress, ledger and outbox.

A report, its ledger row and its outbox row are one transaction, and so are accumulators and the
position in the source. What a transaction has not committed has not happened: after a crash at any
time the file says the truth.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge_agent.errors import StateError, StorageError
from edge_agent.records import START, Position
from edge_agent.state.database import Storage
from edge_agent.state.holds import Hold, Holds
from edge_agent.state.positions import Positions
from edge_agent.state.rewinding import RECOGNITION, Rewound, rewind, sources_of
from edge_agent.state.rows import LedgerRow, OutboxRow, Pin, Progress
from edge_agent.state.schema import Owner, owner_of
from fsir.arrays import Integers
from fsir.limits import INSTANCE_BYTES

_OUTBOX = ", ".join(field.name for field in fields(OutboxRow))
_REFUSED = "refused:"  # of a task: no task has a name with a colon

Kept = tuple[NDArray[np.int16], Integers]  # quantised rows, and their slices


class State:
    """The state of one device. `directory = None` keeps it in memory, for simulations and audits.

    >>> state = State(None, "pi-7")
    >>> pin = state.pin("activity", b"the task, in canonical bytes", "csv:walk.csv")
    >>> [pin.name for pin in state.pins()]
    ['activity']
    """

    def __init__(
        self,
        directory: str | Path | None,
        device: str | None,
        *,
        simulated: bool = False,
        read_only: bool = False,
    ) -> None:
        place = None if directory is None else Path(directory)
        self._db = Storage(place, read_only, create=device is not None)
        self._positions = Positions(self._db)
        self.holds = Holds(self._db, place)
        try:
            owner = owner_of(self._db, Owner(device or "", simulated), read_only)
        except StorageError as error:
            self.close()
            raise StateError(
                f"{error}; or it is not the state of an agent: then use another directory"
            ) from error
        except BaseException:
            self.close()
            raise
        self.where = self._db.where
        self.device = owner.device
        self.simulated = owner.simulated

    def close(self) -> None:
        """Let go of the file and of the lock."""
        self._db.close()

    # --- tasks ------------------------------------------------------------------------------------

    def pin(self, name: str, raw: bytes, source: str) -> Pin:
        """Accept a task, for good."""
        with self._db.transaction():
            self._db.insert("tasks", {"name": name, "raw": raw, "source": source})
            self._db.run("DELETE FROM meta WHERE key = ?", f"note:{name}")
        return Pin(name=name, raw=raw, source=source)

    def pins(self) -> list[Pin]:
        """All tasks that were accepted."""
        query = "SELECT name, raw, source, active, subspace, stopped FROM tasks ORDER BY name"
        rows = self._db.named_rows(query)
        for row in rows:
            row["active"] = None if row["active"] is None else tuple(json.loads(row["active"]))
        return [Pin(**row) for row in rows]

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

    def note_broker(self, address: str) -> None:
        """Remember where reports go, for whoever asks."""
        if self.broker() != address:
            with self._db.transaction():
                self._db.run("INSERT OR REPLACE INTO meta VALUES ('broker', ?)", address)

    def broker(self) -> str | None:
        """The broker of the latest run; version 0.1 did not remember it."""
        rows = self._db.rows("SELECT value FROM meta WHERE key = 'broker'")
        return next((str(address) for (address,) in rows), None)

    def keep_subspace(self, name: str, raw: bytes) -> None:
        """Remember the latest subspace, so that a device can serve without a broker."""
        with self._db.transaction():
            self._db.run("UPDATE tasks SET subspace = ? WHERE name = ?", raw, name)

    def pin_active(self, name: str, features: tuple[str, ...], progress: Progress) -> None:
        """Accept an active set, for good, with what the learned becomes under it.

        Rows that were kept are needed no more.
        """
        with self._db.transaction():
            self._db.run("UPDATE tasks SET active = ? WHERE name = ?", json.dumps(features), name)
            self._save(name, progress, (), drop_kept=True)

    # --- progress ---------------------------------------------------------------------------------

    def progress(self, name: str) -> Progress:
        """What was saved last."""
        query = "SELECT source, first, last, learned FROM tasks WHERE name = ?"
        for row in self._db.named_rows(query, name):
            return Progress(position=self.position(name, row.pop("source")), **row)
        return Progress()

    def position(self, name: str, source: str) -> Position:
        """How far a task has come in a source."""
        return self._positions.of(name, source)

    def last_position(self, source: str) -> Position:
        """The furthest that any task has come in a source."""
        return self._positions.last(source)

    def positions(self, source: str) -> list[Position]:
        """How far everyone has come in a source, whoever that was."""
        return self._positions.all(source)

    def stream(self, name: str) -> str:
        """The stream that a task has learned from; empty if nobody noted it."""
        # All columns: a file of version 1 that is only looked at has no streams.
        rows = self._db.named_rows("SELECT * FROM tasks WHERE name = ?", name)
        return next((row.get("stream", "") for row in rows), "")

    def lasts(self, name: str) -> bool:
        """Whether what a task has learned outlives the run: its stream is the source itself."""
        pin = self.pinned(name)
        return pin is None or self.stream(name) in ("", pin.source)

    def follow(self, name: str, stream: str, *, drop: bool) -> None:
        """From now on the task learns from this stream; with `drop` it starts anew."""
        with self._db.transaction():
            self._db.run("UPDATE tasks SET stream = ? WHERE name = ?", stream, name)
            if drop:
                self._save(name, Progress(), (), drop_kept=True)

    def save(self, name: str, progress: Progress, kept: tuple[Kept, ...] = ()) -> None:
        """Commit accumulators, rows kept since the last time, and the position of both."""
        with self._db.transaction():
            self._save(name, progress, kept, drop_kept=False)

    def _save(
        self, name: str, progress: Progress, kept: tuple[Kept, ...], *, drop_kept: bool
    ) -> None:
        statement = "UPDATE tasks SET first = ?, last = ?, learned = ? WHERE name = ?"
        self._db.run(statement, progress.first, progress.last, progress.learned, name)
        if progress.learned is None:  # with the records their report goes, too
            self.holds.drop(name)
        if progress.position != START:
            for (source,) in self._db.rows("SELECT source FROM tasks WHERE name = ?", name):
                self._positions.put(name, source, progress.position)
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
        query = "SELECT K, slices FROM kept WHERE task = ? ORDER BY id"
        for K, slices in self._db.each(query, name):
            yield np.frombuffer(K, np.int16).reshape(-1, p), np.frombuffer(slices, np.int64)

    def forget(self, name: str, *, unpin: bool = False) -> None:
        """Delete what was learned and not reported, and what recognition has learned.

        Ledger, positions and outbox stay. With `unpin` another task may take this name; the ledger
        keeps what this one has spent.
        """
        if unpin and self.outbox(name):
            raise StateError(
                f"task {name!r} has a report without a receipt: run the agent until it is delivered"
            )
        with self._db.transaction():
            self._save(name, Progress(), (), drop_kept=True)
            for kind in (RECOGNITION, _REFUSED):
                self._db.run("DELETE FROM meta WHERE key = ?", f"{kind}{name}")
            if unpin:
                self._db.run("DELETE FROM tasks WHERE name = ?", name)
        self._db.run("VACUUM")

    def sources(self) -> list[str]:
        """Every source that was ever named to a task, read or reported."""
        return sources_of(self._db)

    def rewind(self, source: str) -> Rewound:
        """Let a source be read again, unless something of it was reported."""
        rewound = rewind(self._db, source)
        self._db.run("VACUUM")
        return rewound

    # --- numbers by which copies of this directory are told apart ---------------------------------

    def instances(self, name: str) -> list[bytes]:
        """The numbers that were drawn for a task, the newest first."""
        rows = self._db.rows("SELECT value FROM meta WHERE key = ?", f"instance:{name}")
        raw = b"".join(value for (value,) in rows)
        return [raw[at : at + INSTANCE_BYTES] for at in range(0, len(raw), INSTANCE_BYTES)]

    def keep_instances(self, name: str, numbers: list[bytes]) -> None:
        """Replace them."""
        with self._db.transaction():
            statement = "INSERT OR REPLACE INTO meta VALUES (?, ?)"
            self._db.run(statement, f"instance:{name}", b"".join(numbers))

    # --- recognition: it has its own pace, and its own commits ------------------------------------

    def recognised(self, name: str, source: str) -> Position:
        """How far the recognition of a task has come in a source."""
        return self.position(f"{RECOGNITION}{name}", source)

    def recognition(self, name: str) -> bytes | None:
        """What recognition has learned under a task."""
        query = "SELECT value FROM meta WHERE key = ?"
        return next((value for (value,) in self._db.rows(query, f"{RECOGNITION}{name}")), None)

    def keep_recognition(self, name: str, source: str, position: Position, learned: bytes) -> None:
        """Commit what recognition has learned, and the position that it belongs to."""
        key = f"{RECOGNITION}{name}"
        with self._db.transaction():
            self._db.run("INSERT OR REPLACE INTO meta VALUES (?, ?)", key, learned)
            self._positions.put(key, source, position)

    # --- reports ----------------------------------------------------------------------------------

    def record_report(
        self,
        row: LedgerRow,
        out: OutboxRow | None,
        progress: Progress,
        *,
        drop_kept: bool,
        judged: LedgerRow | None = None,
        refused: Mapping[str, int] | None = None,
    ) -> None:
        """Spend: ledger, outbox and progress in one transaction.

        Only after this may the report be sent. One that will not be sent is spent all the same, and
        so is the judgement that it was not to be held. `refused` stays for its owner's eyes.
        """
        with self._db.transaction():
            if judged is not None:
                self._book(judged)
            self._db.insert("ledger", vars(row))
            if out is not None:
                self._db.insert("outbox", vars(out))
            self._save(row.task, progress, (), drop_kept=drop_kept)
            self._keep_refused(row.task, refused or {})

    def record_hold(self, row: LedgerRow, hold: Hold, progress: Progress) -> None:
        """Hold a report back, with what it is about: only after this may its absence be seen."""
        with self._db.transaction():
            self._book(row)
            self._save(row.task, progress, (), drop_kept=False)
            self.holds.put(row.task, hold)

    def _book(self, row: LedgerRow) -> None:
        entry = vars(row)
        self._db.insert("ledger", entry)

    def _keep_refused(self, name: str, refused: Mapping[str, int]) -> None:
        key = f"{_REFUSED}{name}"
        self._db.run("DELETE FROM meta WHERE key = ?", key)
        if refused:
            self._db.run("INSERT INTO meta VALUES (?, ?)", key, json.dumps(dict(refused)))

    def refused(self, name: str) -> dict[str, int]:
        """Records that were not accepted for the last report of a task, by reason."""
        rows = self._db.rows("SELECT value FROM meta WHERE key = ?", f"{_REFUSED}{name}")
        return next((json.loads(text) for (text,) in rows), {})

    def ledger(self, digest: bytes | None = None) -> list[LedgerRow]:
        """Every release of this device, across all its tasks, or those of one task."""
        # All columns: a file of version 1 that is only looked at lacks those that have defaults.
        rows = self._db.named_rows("SELECT * FROM ledger ORDER BY rowid")
        return [LedgerRow(**row) for row in rows if digest in (None, row["digest"])]

    def outbox(self, task: str | None = None) -> list[OutboxRow]:
        """Reports without a receipt."""
        rows = self._db.named_rows(f"SELECT {_OUTBOX} FROM outbox ORDER BY rowid")
        return [OutboxRow(**row) for row in rows if task in (None, row["task"])]

    def settle(self, report: bytes, verdict: str, reason: str) -> None:
        """The aggregator has answered: clear the outbox, note the verdict in the ledger."""
        statement = "UPDATE ledger SET verdict = ?, reason = ? WHERE report = ?"
        with self._db.transaction():
            self._db.run("DELETE FROM outbox WHERE report = ?", report)
            self._db.run(statement, verdict, reason, report)
