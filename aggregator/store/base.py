"""What an aggregator must remember, as a small interface, and SQLite and PostgreSQL behind it.

A store keeps every counted report's bytes. The totals are a cache of them, always changed in the
same transaction, so that several workers may write into one store: whoever is inside `transaction`
is alone. Workers who only add reports may do so together (`adding`), each to its own part of the
totals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Protocol

from aggregator.store.rows import (
    LAST_NUMBER,
    Counted,
    Place,
    PublishedRow,
    ReportRow,
    RoundRow,
    TaskRow,
    TotalsRow,
)
from aggregator.store.sealed import SealedStore
from aggregator.store.watched import WatchedStore


class Store(SealedStore, WatchedStore, Protocol):
    """Everything that survives a crash."""

    apart: ClassVar[bool]  # whether workers may be on other machines, with other brokers
    leftover: ClassVar[str]  # where deleted bytes may still be when `scrub` has not removed them

    def close(self) -> None: ...

    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing, alone.

        Raises `StoreBusyError` and changes nothing when the store cannot be written.
        """
        ...

    def adding(self) -> AbstractContextManager[None]:
        """All or nothing, beside others who add reports, and never beside a `transaction`.

        Only these may be called in it: what reads, `insert`, `part`, `put_part`, `hold_instances`,
        `put_instances` and `refuse`.
        """
        ...

    def snapshot(self) -> AbstractContextManager[Store]:
        """The store as it is now, to read from in any thread, whatever is written meanwhile."""
        ...

    def scrub(self) -> bool:
        """Remove what is left of deleted bytes; False if some may be there still (`leftover`)."""
        ...

    def shrink(self) -> bool:
        """Give back to the disk what was deleted; False while that cannot be done."""
        ...

    # workers
    def join(self, worker: str) -> None:
        """Add reports under this name, which nobody else may have at the same time."""
        ...

    def leads(self, task: int) -> bool:
        """Whether this worker is the one that estimates and chooses for a task."""
        ...

    def news(self) -> bool:
        """Whether another worker may have published something since the last call."""
        ...

    # tasks
    def add_task(self, digest: bytes, name: str, epoch: int, body: bytes, now: float) -> int: ...
    def tasks(self) -> list[TaskRow]: ...

    # reports
    def lookup(self, task: int, places: Sequence[Place]) -> dict[Place, bytes]:
        """Ids of the reports that were counted in these places."""
        ...

    def last(self, task: int, devices: Sequence[str]) -> dict[tuple[str, str], Counted]:
        """The last round that these devices have had counted, by device and stage."""
        ...

    def receipts_of(self, task: int, device: str) -> dict[Place, bytes]:
        """Ids of everything that was counted of a device, in all its stages and rounds."""
        ...

    def withdrawn(self, task: int, devices: Sequence[str] | None = None) -> set[str]:
        """Those of the devices (or of all) that were withdrawn."""
        ...

    def insert(self, task: int, rows: Iterable[ReportRow]) -> dict[Place, bytes]:
        """Keep counted reports.

        Returns the ids in those places that another worker has filled meanwhile: nothing is kept
        of ours there.
        """
        ...

    def reports(self, task: int, stage: str | None = None) -> Iterator[ReportRow]: ...
    def counted(self, limit: int, before: int = LAST_NUMBER) -> list[tuple[int, int, str]]:
        """Number, task and device of the newest reports with smaller numbers, the newest first.

        Of several rounds of a stage it is the last one.
        """
        ...

    def first_at(self, task: int, stage: str) -> float | None: ...
    def withdraw(self, task: int, device: str, now: float) -> list[ReportRow]:
        """Forget the bytes of a device, bar it, and return what it had.

        The caller takes that out of the totals.
        """
        ...

    def readmit(self, task: int, device: str) -> dict[Place, bytes] | None:
        """Let a withdrawn device in again; the ids of what it had, or None if it was not.

        The bytes are gone, and the next report in such a place counts only if it is the same.
        """
        ...

    def readmitted(self, task: int, places: Sequence[Place]) -> dict[Place, bytes]:
        """Ids of deleted reports that alone may come again in these places."""
        ...

    def let_in_again(self, task: int) -> set[str]:
        """Devices that were withdrawn once, and are not any more."""
        ...

    def decisions(self, task: int) -> int:
        """How often somebody was withdrawn or let in again."""
        ...

    # numbers of devices
    def instances(self, task: int, devices: Sequence[str]) -> dict[str, bytes]:
        """The numbers that hold for those of the devices that have asked."""
        ...

    def hold_instances(self, task: int, devices: Sequence[str]) -> dict[str, bytes]:
        """The same inside a transaction, to the end of which nobody else changes them."""
        ...

    def put_instances(self, task: int, numbers: Mapping[str, bytes]) -> None: ...

    # what was counted, round by round; sets of rounds are texts (`aggregator.rounds.sets`)
    def totals(self, task: int, stage: str, round: int = 1) -> TotalsRow: ...
    def put_totals(self, task: int, stage: str, row: TotalsRow, round: int = 1) -> None: ...
    def part(self, task: int, stage: str, round: int = 1) -> TotalsRow:
        """What this worker adds to: the totals, or its own part of them."""
        ...

    def put_part(self, task: int, stage: str, row: TotalsRow, round: int = 1) -> None: ...
    def rounds(self, task: int, stage: str) -> list[RoundRow]:
        """What each round has, in their order."""
        ...

    def taken(self, task: int, stage: str, devices: Sequence[str]) -> dict[str, str]:
        """The rounds of each of these devices that are in the totals."""
        ...

    def put_taken(self, task: int, stage: str, changes: Mapping[str, tuple[str, str]]) -> None:
        """Replace the rounds of devices, each `(before, after)`, and keep the patterns right."""
        ...

    def patterns(self, task: int, stage: str) -> dict[str, int]:
        """How many devices have exactly these rounds in the totals."""
        ...

    def compact(self, task: int, stage: str, since: int) -> tuple[int, int]:
        """Drop the bytes of earlier rounds; how many reports and bytes.

        Totals and ids stay.
        """
        ...

    def compacted(self, task: int, stage: str, device: str) -> list[int]:
        """The rounds of a device that the totals alone still have."""
        ...

    # what is on the wire
    def published(self, task: int, kind: str) -> PublishedRow | None: ...
    def put_published(self, task: int, kind: str, row: PublishedRow) -> None: ...

    # everything, to move it (`aggregator.store.tables.copies`)
    def rows_of(self, table: str) -> Iterator[Sequence[Any]]: ...
    def load(self, table: str, rows: Iterable[Sequence[Any]]) -> int: ...
    def loaded(self) -> None:
        """Numbers that are given from now on come after those that were loaded."""
        ...

    # settings
    def setting(self, name: str) -> str | None: ...
    def put_setting(self, name: str, value: str | None) -> None: ...
