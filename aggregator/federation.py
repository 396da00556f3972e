"""One federation as the aggregator sees it: the layout of its reports, its merged integers, its active set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aggregator.store.base import PublishedRow, TotalsRow
from fsir.errors import AccumulatorError, TaskError
from fsir.estimate import screening
from fsir.estimate.totals import Totals
from fsir.privacy.plan import FINAL, Stage, final_stage, first_stage
from fsir.task.task import Task
from fsir.wire import messages
from fsir.wire.decode import decode
from fsir.wire.messages import Active, Report
from fsir.wire.plausible import Plausibility, allowed_sizes

Integers = NDArray[np.int64]
ROOM = 2**62  # the largest merged integer that leaves room for more ...
AT_ONCE = 128  # ... which are so many reports


@dataclass(frozen=True)
class Layout:
    """What a report of one stage holds: a row of integers, either noisy blocks or the votes for each feature."""

    name: str
    stage: Stage
    votes: bool
    sizes: tuple[int, ...]
    plausibility: Plausibility

    @property
    def width(self) -> int:
        """Integers in one row."""
        return self.stage.p if self.votes else sum(self.sizes)

    @classmethod
    def of(cls, stage: Stage, votes: bool) -> Layout:
        """The layout of a stage."""
        return cls(
            stage.name,
            stage,
            votes,
            stage.sizes,
            Plausibility(stage),
        )


def tally(votes: NDArray[np.bool_]) -> Integers:
    """How many slices a device votes in for each feature."""
    slices: Integers = votes.sum(axis=1, dtype=np.int64)
    return slices


class Federation:
    """A task, and what follows from it and from its active set once there is one."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.name = task.name
        self.body = task.encode()
        self.digest = task.digest
        self.key = 0  # in the store
        self.records = allowed_sizes(task)
        self.first = first_stage(task).name  # the stage that an unreadable report most likely meant
        self.active: bytes | None = None  # the message, once it is pinned
        self.shown: dict[
            str, PublishedRow
        ] = {}  # what this worker has put on the wire last, by kind
        self.fruitless = 0  # devices whose trimmed screening reports gave no active set
        self.layouts: dict[str, Layout] = {}
        self.layouts[self.first] = Layout.of(first_stage(task), task.screens_by_votes)

    def pin(self, active: bytes) -> None:
        """Take the active set that was published; from now on final reports have a layout."""
        message = decode(active, Active)
        assert isinstance(message, messages.Active)
        features = self.task.features
        if message.task != self.digest or features.unknown(message.features):
            raise TaskError(
                "active set", message.features[:3], f"does not belong to task {self.name!r}"
            )
        self.layouts[FINAL] = Layout.of(
            final_stage(self.task, features.indices(message.features)), False
        )
        self.active = active

    def values(self, raw: bytes) -> Integers:
        """The integers of a stored report, as they were added to the totals."""
        report = decode(raw, Report)
        assert isinstance(report, messages.Report)
        return tally(report.votes) if report.votes is not None else np.concatenate(report.blocks)

    def totals(self, row: TotalsRow, stage: str = FINAL) -> Totals:
        """The merged release of a stage."""
        totals = Totals(self.layouts[stage].stage)
        totals.n, totals.devices = row.records, row.devices
        values, start = np.frombuffer(row.values, "<i8"), 0
        for block in totals.blocks if row.values else ():
            block[...] = values[start : start + len(block)]
            start += len(block)
        return totals

    def choose(self, row: TotalsRow, totals: Totals | None) -> messages.Active | None:
        """The active set from merged sums (`totals`) or, without them, votes (`row`); None while nothing stands out."""
        rule = self.task.screening
        assert rule is not None
        if totals is not None:
            chosen = screening.select(rule, totals)
        else:
            tally = np.frombuffer(row.values, "<i8")
            chosen = screening.majority(tally, row.devices)
            if len(chosen) > rule.limit:  # a device refuses more; the features with most votes stay
                chosen = tuple(sorted(sorted(chosen, key=lambda j: (-tally[j], j))[: rule.limit]))
        if not chosen:
            return None
        return messages.Active(
            self.digest, tuple(self.task.features.names[j] for j in chosen), row.devices
        )


def add(row: TotalsRow, values: Integers, devices: int, records: int) -> TotalsRow:
    """Totals with more (or, negative, fewer) reports in them."""
    merged = np.frombuffer(row.values, "<i8") + values if row.values else values
    # One report holds values below 2^54, and at most AT_ONCE are in `values`: nothing can have wrapped round yet.
    if len(merged) and max(int(merged.max()), -int(merged.min())) > ROOM:
        raise AccumulatorError(
            f"the sums of {row.devices} devices are at the end of 64 bits; start a new epoch"
        )
    raw = merged.astype("<i8").tobytes()
    return TotalsRow(row.devices + devices, row.records + records, row.change + 1, raw)
