"""Receipts of what had been counted at the start, repeated some at a time, the newest first.

They are those of tasks of version 1, whose devices do not ask. A crash may have held them back. And
a broker that has lost what it retained must have them again, because they stop a device whose state
was restored from before its report.
"""

from __future__ import annotations

from collections.abc import Collection

from aggregator.federation import Federation
from aggregator.publication import Publication
from aggregator.results.telling import receipts
from aggregator.store.base import Store

# The intake must not wait for those of a large fleet.
RECEIPTS_AT_ONCE = 1000


class Repeating:
    """Repeats, on each connection, the receipts of federations whose devices cannot ask."""

    def __init__(self, store: Store, federations: Collection[Federation]) -> None:
        self._store = store
        self._federations = [each for each in federations if not each.task.tells_copies_apart]
        self._before = 0  # reports with smaller numbers have their receipts to be repeated

    def start(self) -> None:
        """From now on those of all that is counted by now."""
        newest = self._store.counted(1) if self._federations else []
        self._before = newest[0][0] + 1 if newest else 0

    def due(self) -> list[Publication]:
        """Some more of them."""
        rows = self._store.counted(RECEIPTS_AT_ONCE, self._before) if self._before else []
        publications = []
        for federation in self._federations:
            named = [device for _, key, device in rows if key == federation.key]
            publications += receipts(self._store, federation, list(dict.fromkeys(named)))
        self._before = rows[-1][0] if rows else 0
        return publications
