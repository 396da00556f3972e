"""Faults so gross that a report would be worthless: which ones a device looks for, and in words.

Each has *witnesses*, records that speak against it, and needs so many of them: what they are more
is its margin. A replaced record changes every margin by one at most, and so the smallest one
(docs/privacy.md, proposition 12).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from edge_agent.watch.counts import Counts
from edge_agent.watch.threshold import FEWEST_SDS, Certain, Threshold
from fsir.arrays import Integers
from fsir.errors import some
from fsir.privacy.plan import Stage, report_size
from fsir.task.task import Task

EMPTY_SHARE = 0.05  # of the records: fewer that can be used are nearly none
FAR_SHARE = 0.5
FEW_SHARE = 0.01  # of records with another class than the commonest, or with another value
STUCK_FEATURES = 0.1  # of all features, or one: so many must never change
JUDGED_SDS = (
    12.0  # fewer records that can be used do not tell whether a feature or a class is alone
)


class Fault(NamedTuple):
    """What may be wrong, and by how many witnesses it is not."""

    margin: int
    text: str
    early: bool = False  # it may only be too early to tell


def counts_of(task: Task, stage: Stage) -> Counts:
    """Counts that tell every fault of a report of this stage."""
    return Counts(task, stage, Threshold(task).enough(report_size(task), FEW_SHARE))


def margins(
    task: Task,
    stage: Stage,
    counts: Counts,
    *,
    n: int,
    refused: Mapping[str, int],
    threshold: Certain,
) -> list[Fault]:
    """Every fault, the plainest first, of a report about `n` records; `refused` ones by reason.

    Records that were learned and not counted speak against all of them.
    """
    look = _Look(task=task, stage=stage, counts=counts, n=n, refused=refused, threshold=threshold)
    found = [look.empty(), look.far(), look.stuck()]
    if look.varied_classes() >= FEWEST_SDS * threshold.sd:
        found.append(look.one_class())
    return found


def plainest(faults: list[Fault]) -> Fault:
    """The one to name: what goes wrong first makes the others look wrong, too."""
    return next((fault for fault in faults if fault.margin < 0), min(faults, key=_margin))


def _margin(fault: Fault) -> int:
    return fault.margin


class _Look(NamedTuple):
    task: Task
    stage: Stage
    counts: Counts
    n: int
    refused: Mapping[str, int]
    threshold: Certain

    @property
    def learned(self) -> int:
        """Records that are not null."""
        return self.n - (sum(self.refused.values()) if self.stage.offered else 0)

    def empty(self) -> Fault:
        """Nearly no record can be used."""
        reasons = ", ".join(f"{count} {reason}" for reason, count in self.refused.items())
        text = f"only {self.learned} of {self.n} records can be used (not accepted: {reasons})."
        return Fault(self.learned - self._fewest(EMPTY_SHARE), text)

    def far(self) -> Fault:
        """Some feature is far from where the task expects it, in half of the records."""
        witnesses = self.n - self.counts.far.astype(np.int64)
        fewest = self._fewest(FAR_SHARE)
        text = (
            f"{self._named(witnesses, fewest)}: far outside of what the task expects in at least "
            f"half of {self.n} records; is the unit another one, or the column?"
        )
        return Fault(int(witnesses.min()) - fewest, text)

    def stuck(self) -> Fault:
        """Some features never change: one of a few, a tenth of many."""
        witnesses = self.counts.varying() + (self.learned - self.counts.rows)
        which = max(1, math.ceil(STUCK_FEATURES * len(witnesses))) - 1
        worst = int(np.partition(witnesses, which)[which])
        fewest = self._fewest(FEW_SHARE)
        text = (
            f"{self._named(witnesses, fewest)}: the same value in nearly all of {self.learned} "
            "records; is a sensor stuck?"
        )
        return Fault(self._if_judged(worst - fewest), text)

    def one_class(self) -> Fault:
        """All records are of one class, or in one interval of the response."""
        kind = "class" if self.task.response.classes else "interval"
        text = (
            f"nearly all of {self.learned} records are of one {kind} of "
            f"{self.task.response.name!r}, of {self.stage.slices}; are the labels right, "
            "and is the report not too early?"
        )
        others = self.learned - int(self.counts.slices.max())
        return Fault(self._if_judged(others - self._fewest(FEW_SHARE)), text, early=True)

    def _if_judged(self, margin: int) -> int:
        """A margin that says nothing if too few records can be used."""
        return max(margin, math.ceil(JUDGED_SDS * self.threshold.sd) - self.learned)

    def varied_classes(self) -> float:
        """Records that are expected outside of the commonest slice."""
        public = self.task.public
        shares = (1.0 / self.stage.slices,) if public is None else public.shares
        return self.n * (1.0 - max(shares))

    def _fewest(self, share: float) -> int:
        return self.threshold.fewest(self.n, share)

    def _named(self, witnesses: Integers, fewest: int) -> str:
        """The features with too few witnesses, or the one with the fewest."""
        order = np.argsort(witnesses, kind="stable")
        worst = [j for j in order.tolist() if witnesses[j] < fewest] or order[:1].tolist()
        return some(self.task.features.names[self.stage.features[j]] for j in worst)
