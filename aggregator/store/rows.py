"""What a store keeps, row by row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

LAST_NUMBER = 2**63 - 1  # of a report


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """A task that the store knows."""

    key: int
    digest: bytes
    name: str
    epoch: int
    body: bytes
    added: float


class ReportRow(NamedTuple):
    """A counted report; a tuple, since there are as many as reports.

    `raw` is None once its device was withdrawn, and empty where the totals alone still have it.
    """

    device: str
    stage: str
    id: bytes
    n: int
    raw: bytes | None
    at: float
    round: int = 1


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
    """Merged integers of one round: their bytes (little-endian int64), how often they changed."""

    devices: int = 0
    records: int = 0
    change: int = 0
    values: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundRow:
    """What one round of a stage has, without its integers."""

    round: int
    devices: int
    records: int
    change: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedRow:
    """A retained message, `active` or `subspace`.

    `change` is that of the totals that it shows, all rounds together.
    """

    body: bytes
    version: int
    change: int
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRow:
    """One version of a subspace, in a few numbers."""

    version: int
    at: float
    devices: int
    records: int
    dimension: int
    expected_error: float
    expected_accuracy: float | None = None
    angle: float | None = None  # to the version before, in degrees, if there is one
    forecast_error: float | None = None  # for twice as many devices ...
    forecast_accuracy: float | None = None  # ... as far as it is known
    # Where a task has several rounds: the newest of them, how far the version has moved from the
    # one before in units of its own uncertainty, and the round since which something has changed.
    round: int | None = None
    moved: float | None = None
    drift: int | None = None


Place = tuple[str, str, int]  # device, stage and round: at most one report is counted for each


class Counted(NamedTuple):
    """A round of a device that was counted, and the id of its report."""

    round: int
    id: bytes
