"""Reports that are held back until their owner has looked.

The state itself is locked by the running agent. So `fsir-agent release` leaves an empty file in the
state directory, whose name says which report it is about: nobody reads what is in it, and a running
agent finds it as well as one that is started later.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from edge_agent.errors import StateError, StorageError
from edge_agent.state.rows import LedgerRow
from edge_agent.state.tables import Tables

HELD = "held:"  # of a task: no task has a name with a colon


class Hold(NamedTuple):
    """One report that was held back."""

    why: str
    request: str  # the name of the file that releases it
    released: bool = False


def hold_of(row: LedgerRow, why: str) -> Hold:
    """The hold that this entry of the ledger stands for: no other has the same request."""
    return Hold(why=why, request=f"{row.task}.{row.digest.hex()[:16]}-{row.round}.release")


class Holds:
    """What is held, in the state file, and what was released, in files beside it."""

    def __init__(self, db: Tables, directory: Path | None) -> None:
        self._db = db
        self._directory = directory

    def of(self, name: str) -> Hold | None:
        """The report of a task that is held, or was until it was released."""
        rows = self._db.find("meta", ("value",), key=f"{HELD}{name}")
        return next((Hold(**json.loads(text)) for (text,) in rows), None)

    def put(self, name: str, hold: Hold) -> None:
        """Remember it, inside of a transaction."""
        self._db.put("meta", {"key": f"{HELD}{name}", "value": json.dumps(hold._asdict())})

    def drop(self, name: str) -> None:
        """It is settled; inside of a transaction."""
        self._db.remove("meta", key=f"{HELD}{name}")

    def release(self, name: str) -> None:
        """Let it go, for good."""
        hold = self.of(name)
        if hold is None:
            return
        with self._db.transaction():
            self.put(name, hold._replace(released=True))
        if self._directory is not None:
            with suppress(OSError):  # it says nothing any more
                (self._directory / hold.request).unlink()

    def requested(self, hold: Hold) -> bool:
        """Whether its owner has asked for it."""
        return self._directory is not None and os.path.lexists(self._directory / hold.request)

    def request(self, name: str) -> Hold:
        """Ask the agent, which may be running, to let it go."""
        hold = self.of(name)
        if hold is None or self._directory is None:
            raise StateError(
                f"task {name!r} holds no report back: there is nothing to release; "
                "fsir-agent status says how far it is"
            )
        if not hold.released:
            _touch(self._directory / hold.request)
        return hold


def _touch(path: Path) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with suppress(FileExistsError):  # asked for before
            os.close(os.open(path, flags, 0o600))
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}; the report is still held") from error
