"""One cell of the grid: a set and a budget, and the means over all that were public once."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fsir.arrays import Matrix

MOST_LOST = 0.01  # one point below the best that is public is still called not worse
CONTROLS = ("plain", "shrunken", "alone")  # those that need nothing but what is public


@dataclass(frozen=True)
class Budget:
    """What a device spends."""

    epsilon: float
    unit_records: int = 1


@dataclass(frozen=True, kw_only=True)
class Run:
    """Shares of unseen records, for one public sample and one draw of the noise."""

    federation: float  # named rightly
    expected: float  # what the estimate says that will be, before anybody is tested
    confidence: float  # what the classifier says of itself, on average
    plain: float  # LDA of the public sample
    shrunken: float  # the same with the covariance of Ledoit and Wolf
    alone: float  # the task, with no reports
    quiet: float  # the federation without noise
    pooled: float  # plain LDA of all devices' records in one place


@dataclass(frozen=True)
class Cell:
    """All runs of one set under one budget."""

    name: str
    budget: Budget
    runs: tuple[Run, ...]

    @property
    def means(self) -> dict[str, float]:
        """Of each of the columns of a run."""
        rows = [asdict(run) for run in self.runs]
        return {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}

    @property
    def worst(self) -> float:
        """The federation of the worst volunteer or split."""
        return min(run.federation for run in self.runs)

    @property
    def best_control(self) -> str:
        """The public control with the best mean: who has one sample cannot choose anew for each."""
        means = self.means
        return max(CONTROLS, key=lambda name: means[name])

    @property
    def difference(self) -> float:
        """What the federation adds to it."""
        return float(self._differences().mean())

    @property
    def standard_error(self) -> float | None:
        """Of that difference, over volunteers or splits; a single one tells nothing about it."""
        found = self._differences()
        return float(found.std(ddof=1) / np.sqrt(len(found))) if len(found) > 1 else None

    @property
    def lost(self) -> bool:
        """Whether the federation is worse than what is public."""
        return self.difference < -MOST_LOST

    @property
    def surprise(self) -> float:
        """By how much more was expected than came true."""
        means = self.means
        return means["expected"] - means["federation"]

    @property
    def apart(self) -> float:
        """By how much a single run missed what was expected, whichever way: in a mean over runs
        misses to both sides cancel, and nobody has more than one run."""
        return float(np.mean([abs(run.expected - run.federation) for run in self.runs]))

    def row(self) -> dict[str, Any]:
        """Everything about the cell, for programs."""
        means = {key: round(value, 6) for key, value in self.means.items()}
        error = self.standard_error
        return {
            "set": self.name,
            "epsilon": self.budget.epsilon,
            "unit_records": self.budget.unit_records,
            "runs": len(self.runs),
            "federation": means.pop("federation"),
            "worst": round(self.worst, 6),
            **means,
            "best_control": self.best_control,
            "best_public": means[self.best_control],
            "difference": round(self.difference, 6),
            "standard_error": None if error is None else round(error, 6),
            "lost": self.lost,
            "apart": round(self.apart, 6),
        }

    def _differences(self) -> Matrix:
        best = self.best_control
        return np.array([run.federation - getattr(run, best) for run in self.runs])
