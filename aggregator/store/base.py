"""What an aggregator must remember, as a small interface; `aggregator.store.sqlite` is one.

A store keeps every counted report's bytes. The totals are a cache of them, always changed in the
same transaction, so that several workers may write into one store: whoever is inside `transaction`
is alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from fsir.errors import FsirError

LAST_NUMBER = 2**63 - 1  # of a report


class StoreError(FsirError):
    """A store that cannot be opened, or is not what it should be."""


class StoreBusyError(StoreError):
    """The store cannot be written at the moment (disk full, locked).

    Nothing was changed: try again later.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """A task that the store knows."""

    key: int
    digest: bytes
    name: str
    epoch: int
    body: bytes
    added: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow:
    """A counted report; `raw` is None once its device was withdrawn."""

    device: str
    stage: str
    id: bytes
    n: int
    raw: bytes | None
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedRow:
    """A refused message in quarantine; long ones are kept only in part."""

    task: str
    device: str
    stage: str
    id: bytes
    reason: str
    detail: str
    length: int
    raw: bytes
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalsRow:
    """Merged integers of one stage: their bytes (little-endian int64), how often they changed."""

    devices: int = 0
    records: int = 0
    change: int = 0
    values: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRow:
    """A retained message, `active` or `subspace`; `change` is that of the totals that it shows."""

    body: bytes
    version: int
    change: int
    at: float


class Store(Protocol):
    """Everything that survives a crash."""

    def close(self) -> None: ...

    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing, alone.

        Raises `StoreBusyError` and changes nothing when the store cannot be written.
        """
        ...

    def snapshot(self) -> AbstractContextManager[Store]:
        """The store as it is now, to read from in any thread, whatever is written meanwhile."""
        ...

    # tasks
    def add_task(self, digest: bytes, name: str, epoch: int, body: bytes, now: float) -> int: ...
    def tasks(self) -> list[TaskRow]: ...

    # reports
    def lookup(self, task: int, devices: Sequence[str]) -> dict[tuple[str, str], bytes]:
        """Ids of the reports that these devices have had counted, by device and stage."""
        ...

    def withdrawn(self, task: int, devices: Sequence[str] | None = None) -> set[str]:
        """Those of the devices (or of all) that were withdrawn."""
        ...

    def insert(self, task: int, rows: Iterable[ReportRow]) -> None: ...
    def reports(self, task: int, stage: str | None = None) -> Iterator[ReportRow]: ...
    def counted(self, limit: int, before: int = LAST_NUMBER) -> list[tuple[int, int, str]]:
        """Number, task and device of the newest reports with smaller numbers, the newest first."""
        ...

    def first_at(self, task: int, stage: str) -> float | None: ...
    def withdraw(self, task: int, device: str, now: float) -> list[ReportRow]:
        """Forget the bytes of a device, bar it, and return what it had.

        The caller takes that out of the totals.
        """
        ...

    # numbers of devices
    def instances(self, task: int, devices: Sequence[str]) -> dict[str, bytes]:
        """The numbers that hold for those of the devices that have asked."""
        ...

    def put_instances(self, task: int, numbers: Mapping[str, bytes]) -> None: ...

    # caches and what is on the wire
    def totals(self, task: int, stage: str) -> TotalsRow: ...
    def put_totals(self, task: int, stage: str, row: TotalsRow) -> None: ...
    def published(self, task: int, kind: str) -> PublishedRow | None: ...
    def put_published(self, task: int, kind: str, row: PublishedRow) -> None: ...

    # quarantine
    def refuse(self, rows: Sequence[RefusedRow]) -> None: ...
    def refused(self, limit: int) -> list[RefusedRow]: ...
    def refused_counts(self) -> dict[tuple[str, str], int]:
        """How many were refused in all, by task and reason, those out of quarantine included."""
        ...
