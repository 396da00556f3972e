"""The memory of a device: one SQLite file with tasks, progress, ledger and outbox.

A report, its ledger row and its outbox row are one transaction, and so are accumulators and the
position in the source. What a transaction has not committed has not happened: after a crash at any
time the file says the truth.
"""

from __future__ import annotations

from edge_agent.errors import StateError
from edge_agent.records import Position
from edge_agent.state.reports import REFUSED, Reports
from edge_agent.state.rewinding import FRAME, RECOGNITION, Rewound, rewind, sources_of
from edge_agent.state.rows import Progress
from fsir.limits import INSTANCE_BYTES


class State(Reports):
    """The state of one device. `directory = None` keeps it in memory, for simulations and audits.

    There it has no file under it, and the same tables: thousands of devices fit into one process.

    >>> state = State(None, "pi-7")
    >>> pin = state.pin("activity", b"the task, in canonical bytes", "csv:walk.csv")
    >>> [pin.name for pin in state.pins()]
    ['activity']
    """

    # --- where reports go -------------------------------------------------------------------------

    def note_broker(self, address: str) -> None:
        """Remember where reports go, for whoever asks."""
        if self.broker() != address:
            with self._db.transaction():
                self._db.put("meta", {"key": "broker", "value": address})

    def broker(self) -> str | None:
        """The broker of the latest run; version 0.1 did not remember it."""
        rows = self._db.find("meta", ("value",), key="broker")
        return next((str(address) for (address,) in rows), None)

    # --- what can be undone -----------------------------------------------------------------------

    def forget(self, name: str, *, unpin: bool = False) -> None:
        """Delete what was learned and not reported, and what recognition has learned.

        Ledger, positions and outbox stay. With `unpin` another task may take this name; the ledger
        keeps what this one has spent, and what the noise of its next round would need is gone.
        """
        if unpin and self.outbox(name):
            raise StateError(
                f"task {name!r} has a report without a receipt: run the agent until it is delivered"
            )
        with self._db.transaction():
            self._save(name, Progress(), (), drop_kept=True)
            for kind in (RECOGNITION, FRAME, REFUSED):
                self._db.remove("meta", key=f"{kind}{name}")
            if unpin:
                self._db.remove("tasks", name=name)
                for digest in {row.digest for row in self.ledger() if row.task == name}:
                    self.keys.drop(digest)
        self._db.overwrite()

    def sources(self) -> list[str]:
        """Every source that was ever named to a task, read or reported."""
        return sources_of(self._db)

    def rewind(self, source: str) -> Rewound:
        """Let a source be read again, unless something of it was reported."""
        rewound = rewind(self._db, source)
        self._db.overwrite()
        return rewound

    # --- numbers by which copies of this directory are told apart ---------------------------------

    def instances(self, name: str) -> list[bytes]:
        """The numbers that were drawn for a task, the newest first."""
        rows = self._db.find("meta", ("value",), key=f"instance:{name}")
        raw = b"".join(value for (value,) in rows)
        return [raw[at : at + INSTANCE_BYTES] for at in range(0, len(raw), INSTANCE_BYTES)]

    def keep_instances(self, name: str, numbers: list[bytes]) -> None:
        """Replace them."""
        with self._db.transaction():
            self._db.put("meta", {"key": f"instance:{name}", "value": b"".join(numbers)})

    # --- recognition: it has its own pace, and its own commits ------------------------------------

    def recognised(self, name: str, source: str) -> Position:
        """How far the recognition of a task has come in a source."""
        return self.position(f"{RECOGNITION}{name}", source)

    def recognition(self, name: str) -> bytes | None:
        """What recognition has learned under a task."""
        return self._meta(f"{RECOGNITION}{name}")

    def recognition_frame(self, name: str) -> bytes | None:
        """In which coordinates that is; version 0.1 did not keep them."""
        return self._meta(f"{FRAME}{name}")

    def _meta(self, key: str) -> bytes | None:
        rows = self._db.find("meta", ("value",), key=key)
        return next((value for (value,) in rows), None)

    def keep_recognition(
        self,
        name: str,
        source: str,
        position: Position,
        learned: bytes,
        frame: bytes | None = None,
    ) -> None:
        """Commit what recognition has learned, and the position that it belongs to.

        frame: the coordinates that it is in, if these have changed.
        """
        key = f"{RECOGNITION}{name}"
        with self._db.transaction():
            self._db.put("meta", {"key": key, "value": learned})
            if frame is not None:
                self._db.put("meta", {"key": f"{FRAME}{name}", "value": frame})
            self._positions.put(key, source, position)
