"""From published integers to scores that are exactly standard normal if the noise is right.

A published integer says in which cell the noise fell: `k` means that the normal lay between
`((k - 1/2) worth - mean)/sd` and `((k + 1/2) worth - mean)/sd`. A point drawn from the normal
inside that cell is standard normal again, whatever the step and the mean. So every test on scores
has the level that it says, and rounding excuses nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from fsir.arrays import Flags, Matrix
from fsir.task.task import Task
from fsir.wire.decode import decode
from fsir.wire.messages import Report
from sim_devices.audit.shipped.reference import Expected, Stream, expected, stage_names

_SMALLEST = 1e-300


def reports_of(messages: Sequence[bytes]) -> list[Report]:
    """The reports among published messages."""
    return [decode(raw, Report) for raw in messages]


@dataclass(frozen=True, eq=False)
class Side:
    """What agents have published about one stream, and the law that it must follow."""

    stream: Stream
    laws: dict[str, Expected]  # by stage
    runs: list[list[Report]]

    @classmethod
    def of(cls, task: Task, stream: Stream, messages: Sequence[Sequence[bytes]]) -> Side:
        """The published messages of each run on a stream."""
        laws = {name: expected(task, name, stream) for name in stage_names(task)}
        return cls(stream, laws, [reports_of(run) for run in messages])

    def integers(self) -> Matrix:
        """The noisy numbers of all reports of a run side by side, one row per run."""
        rows = [
            np.concatenate([np.concatenate(report.blocks) for report in run if report.blocks])
            for run in self.runs
        ]
        return np.stack(rows).astype(np.float64)

    def votes(self) -> Flags | None:
        """The votes of a run, one row per run."""
        votes = [report.votes for run in self.runs for report in run if report.votes is not None]
        return np.stack([vote.reshape(-1) for vote in votes]) if votes else None

    def dense(self) -> list[Expected]:
        """The laws of the reports that hold numbers, as often and in the order as in a run."""
        return [self.laws[report.stage] for report in self.runs[0] if report.blocks]

    def mean(self) -> Matrix:
        """The exact sums behind the numbers."""
        return np.concatenate([law.mean for law in self.dense()])

    def sd(self) -> Matrix:
        """The noise that each number must have."""
        return np.concatenate([law.sd for law in self.dense()])

    def worth(self) -> Matrix:
        """What one integer stands for."""
        return np.concatenate([law.worth for law in self.dense()])

    def names(self) -> list[str]:
        """Where each number stands."""
        return [law.name(index) for law in self.dense() for index in range(len(law.mean))]

    def scores(self, rng: np.random.Generator) -> Matrix:
        """One row per run, one column per number."""
        return scores(self.integers(), self.mean(), self.sd(), self.worth(), rng)


def scores(K: Matrix, mean: Matrix, sd: Matrix, worth: Matrix, rng: np.random.Generator) -> Matrix:
    """A point of the normal inside the cell that each integer stands for."""
    low = ((K - 0.5) * worth - mean) / sd
    high = ((K + 0.5) * worth - mean) / sd
    above = low > 0.0  # the lower tail has all its digits
    start = ndtr(np.where(above, -high, low))
    end = ndtr(np.where(above, -low, high))
    inside = np.maximum(start + rng.random(K.shape) * (end - start), _SMALLEST)
    return np.asarray(np.where(above, -1.0, 1.0) * ndtri(inside))
