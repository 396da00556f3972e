"""What the state file holds, row by row. The fields of a row have the names of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from edge_agent.records import START, Position
from fsir.task.task import CORRELATED

HOLD = "hold"  # the stage of a release that is no report: whether one was held back
# Verdict and reason about one report, by the role of the aggregator that has given them.
Answers: TypeAlias = Mapping[str, tuple[str, str]]


def report_title(stage: str, round: int) -> str:
    """What a report is called.

    >>> report_title("final", 1), report_title("final", 7)
    ('final report', 'final report of round 7')
    """
    return f"{stage} report" + (f" of round {round}" if round > 1 else "")


class Pin(NamedTuple):
    """A task as this device has accepted it: it never changes under the device."""

    name: str
    raw: bytes
    source: str
    active: tuple[str, ...] | None = None
    subspace: bytes | None = None
    stopped: str = ""  # why the device takes no further part


class Progress(NamedTuple):
    """What a device has learned for a task, and how far into its source it has come."""

    position: Position = START
    first: int | None = None  # ordinals of the first and last record that count
    last: int | None = None
    learned: bytes | None = None


class LedgerRow(NamedTuple):
    """One release, forever: what was spent on which records."""

    task: str
    digest: bytes
    stage: str
    mechanism: str
    mu: float  # infinite where nothing is proven
    epsilon: float  # of the whole task, as claimed
    delta: float
    numbers: int  # noisy numbers published; the sampler's error counts for each
    n: int
    source: str
    first: int
    last: int
    made: float  # seconds since 1970, by the device's clock
    report: bytes
    verdict: str = ""  # what the aggregator said
    reason: str = ""
    unit_records: int = 1  # consecutive records that were protected together
    round: int = 1

    @property
    def title(self) -> str:
        """What it is called."""
        return report_title(self.stage, self.round)

    @property
    def is_correlated(self) -> bool:
        """Whether its noise takes back that of earlier rounds of the task."""
        return self.mechanism.startswith(CORRELATED)

    @property
    def is_report(self) -> bool:
        """Whether it was sent, or is to be; and not only decided."""
        return self.stage != HOLD


class OutboxRow(NamedTuple):
    """A report that has no receipt yet: these bytes and no others are sent until there is one."""

    report: bytes
    task: str
    stage: str
    topic: str
    payload: bytes
    not_before: float
