"""The keys that the noise of correlated rounds is made from, for each task that of its rounds.

Whoever has a key and the reports can subtract the noise: it lies where the records lie, in a file
that only its owner can read, and what is deleted there is overwritten.
"""

from __future__ import annotations

from edge_agent.state.tables import Tables

_KEY = "noise:"  # of a task, by its digest: no task has a name with a colon


class Keys:
    """The keys in the state file."""

    def __init__(self, db: Tables) -> None:
        self._db = db

    def of(self, digest: bytes) -> bytes:
        """The key of a task; empty if there is none."""
        rows = self._db.find("meta", ("value",), key=f"{_KEY}{digest.hex()}")
        return b"".join(value for (value,) in rows)

    def put(self, digest: bytes, key: bytes) -> None:
        """Keep it, inside of a transaction."""
        self._db.put("meta", {"key": f"{_KEY}{digest.hex()}", "value": key})

    def drop(self, digest: bytes) -> None:
        """There is no further round; inside of a transaction."""
        self._db.remove("meta", key=f"{_KEY}{digest.hex()}")
