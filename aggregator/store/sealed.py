"""What a store keeps where two aggregators open sums: shares that wait, and cohorts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

PENDING = "pending"  # proposed, not answered yet
OPENED = "opened"
LOST = "lost"  # the other aggregator has opened what is not all here any more


class Pool(NamedTuple):
    """Where reports may be opened together: in one stage, round and group of devices."""

    stage: str
    round: int
    group: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareRow:
    """A report that waits to be opened, and where."""

    id: bytes
    device: str
    pool: Pool


@dataclass(frozen=True, slots=True, kw_only=True)
class CohortRow:
    """A cohort: `own` is our noised sum, `other` that of the other aggregator, if we have it."""

    pool: Pool
    number: int
    state: str
    at: float
    devices: int = 0
    records: int = 0
    own: bytes = b""
    other: bytes = b""
    answer: bytes = b""  # what we have said about it, and say again whenever we are asked


class SealedStore(Protocol):
    """This part of a store; `aggregator.store.tables.shares` says what each of it does."""

    def put_shares(self, task: int, rows: Iterable[ShareRow]) -> None: ...
    def waiting_shares(self, task: int) -> dict[Pool, int]: ...
    def share_ids(self, task: int, pool: Pool, most: int = -1) -> list[bytes]: ...
    def payloads(self, task: int, ids: Iterable[bytes]) -> Iterator[tuple[int, bytes]]: ...
    def share_places(self, task: int, ids: Iterable[bytes]) -> list[tuple[str, str, int]]: ...
    def mark_proposed(self, task: int, ids: Iterable[bytes]) -> None: ...
    def shares_of(self, task: int, device: str) -> list[tuple[bytes, bool]]: ...
    def delete_shares(self, task: int, device: str) -> None: ...
    def cohort(self, task: int, pool: Pool, number: int) -> CohortRow | None: ...
    def cohorts(self, task: int) -> list[CohortRow]: ...
    def opened_cohorts(self, task: int, stage: str) -> Iterator[CohortRow]: ...
    def last_cohorts(self, task: int) -> dict[Pool, tuple[int, bool]]: ...
    def put_cohort(self, task: int, row: CohortRow) -> None: ...
    def close_cohort(self, task: int, row: CohortRow, ids: Iterable[bytes]) -> None: ...
    def opened_of(self, task: int, device: str) -> int: ...
    def noise_key(self, task: int, pool: Pool, number: int) -> bytes: ...
    def put_noise_key(self, task: int, pool: Pool, number: int, key: bytes) -> None: ...
