"""A state file that is open: whose it is, and the tables that have a file of their own."""

from __future__ import annotations

from pathlib import Path

from edge_agent.errors import StateError, StorageError
from edge_agent.state.database import Storage
from edge_agent.state.holds import Holds
from edge_agent.state.keys import Keys
from edge_agent.state.positions import Positions
from edge_agent.state.schema import Owner, owner_of
from edge_agent.state.tables import Tables


class Opened:
    """The file of one device, with its lock. `directory = None` keeps it in memory.

    broker: where reports go, for a file that is new.
    """

    def __init__(
        self,
        directory: str | Path | None,
        device: str | None,
        *,
        simulated: bool = False,
        read_only: bool = False,
        broker: str | None = None,
    ) -> None:
        place = None if directory is None else Path(directory)
        asking = Owner(device or "", simulated)
        self._db: Tables
        if place is None:
            from edge_agent.state.tables.memory import Memory

            self._db = Memory()
            owner = asking
        else:
            self._db, owner = _opened(place, asking, read_only, broker)
        self._positions = Positions(self._db)
        self.holds = Holds(self._db, place)
        self.keys = Keys(self._db)
        self.where = self._db.where
        self.device = owner.device
        self.simulated = owner.simulated

    def close(self) -> None:
        """Let go of the file and of the lock."""
        self._db.close()


def _opened(
    place: Path, asking: Owner, read_only: bool, broker: str | None
) -> tuple[Storage, Owner]:
    """The file, and whose it is."""
    db = Storage(place, read_only, create=bool(asking.device))
    try:
        return db, owner_of(db, asking, read_only, broker)
    except StorageError as error:
        db.close()
        raise StateError(
            f"{error}; or it is not the state of an agent: then use another directory"
        ) from error
    except BaseException:
        db.close()
        raise
