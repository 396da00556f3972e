"""Receipts that nobody has asked for: of devices that were withdrawn or let in again.

They are for those that are connected: who is not will ask. Under a task of version 1 devices do not
ask, and are told when they send; what they have been told stays, for nothing else would stop a copy
of theirs.
"""

from __future__ import annotations

from aggregator import merging
from aggregator.federation import Federation
from aggregator.publication import Publication
from aggregator.store.base import Store


class Telling:
    """Tells each of them once since our start."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._looked: dict[str, int] = {}  # by task: what the store had decided at our last look
        self._told: dict[tuple[str, str], set[str]] = {}  # by what it was and by task

    def forget(self) -> None:
        """Whatever was returned last has not left."""
        self._looked.clear()
        self._told.clear()

    def due(self, federation: Federation) -> list[Publication]:
        """What is new since the last call; costs one look-up while nothing is."""
        if not federation.task.tells_copies_apart:
            return []
        decisions = self._store.decisions(federation.key)
        if self._looked.get(federation.name) == decisions:
            return []
        publications = self._tell(federation)
        self._looked[federation.name] = decisions
        return publications

    def _tell(self, federation: Federation) -> list[Publication]:
        store = self._store
        withdrawn = store.withdrawn(federation.key)
        let_in = store.let_in_again(federation.key)
        barred = self._new("withdrawn", federation, withdrawn)
        known = store.last(federation.key, barred)
        held = merging.numbers(store, federation, barred)
        about = federation.digest
        told = [
            merging.receipt_of_withdrawn(federation, name, known, about, held.get(name, b""))
            for name in barred
        ]
        again = self._new("let in again", federation, let_in)
        told += receipts(store, federation, again)
        self._told["withdrawn", federation.name] = withdrawn
        self._told["let in again", federation.name] = let_in
        return told

    def _new(self, what: str, federation: Federation, devices: set[str]) -> list[str]:
        """Those of whom this has not been told."""
        return sorted(devices - self._told.get((what, federation.name), set()))


def receipts(store: Store, federation: Federation, devices: list[str]) -> list[Publication]:
    """What is counted of these devices, as far as they are not withdrawn."""
    known = store.last(federation.key, devices)
    barred = store.withdrawn(federation.key, devices)
    held = merging.numbers(store, federation, devices)
    return [
        merging.receipt(federation, device, known, {}, federation.digest, held.get(device, b""))
        for device in devices
        if device not in barred
    ]
