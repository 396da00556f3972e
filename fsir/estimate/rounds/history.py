"""What a federation has counted, round by round, and how the noise of its rounds hangs together.

Round t is the sum of what devices reported in it. The noise of a device is correlated over its
rounds, that of different devices is independent: so the noise of rounds s and t has the covariance
that a single device has there, times the number of devices that were counted in both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from fsir.arrays import Integers, Matrix
from fsir.privacy.plan import Stage


@dataclass
class History:
    """The rounds of one stage: what was counted in each of them, and which devices had which.

    `patterns` has, for each set of rounds in increasing order, how many devices have exactly these
    counted: all that the noise depends on.
    """

    stage: Stage
    sums: dict[int, Integers] = field(default_factory=dict)  # of published integers, in its layout
    records: dict[int, int] = field(default_factory=dict)
    patterns: dict[tuple[int, ...], int] = field(default_factory=dict)

    @property
    def rounds(self) -> list[int]:
        """The rounds in which anything was counted, in their order."""
        return sorted(round for round, records in self.records.items() if records > 0)

    @property
    def last(self) -> int:
        """The newest round; 0 before there is one."""
        return max(self.rounds, default=0)

    def devices(self, weights: Mapping[int, float]) -> int:
        """How many devices have a part in rounds of these weights."""
        used = {round for round, weight in weights.items() if weight > 0.0}
        return sum(count for rounds, count in self.patterns.items() if used.intersection(rounds))


@dataclass(frozen=True, eq=False)
class Covariance:
    """How the noise of rounds hangs together, for each two rounds of a history."""

    shared: Matrix  # devices that were counted in both
    noise: Matrix  # of a value, in units of the first round of one device


def covariance_of(history: History) -> Covariance:
    """The noise of all rounds; it takes a look at every pattern, so ask once."""
    shared = _shared_devices(history)
    return Covariance(shared, np.asarray(_of_one(history) * shared))


def _shared_devices(history: History) -> Matrix:
    rounds = history.rounds
    place = {round: k for k, round in enumerate(rounds)}
    patterns = list(history.patterns.items())
    had = np.zeros((len(patterns), len(rounds)))
    for row, (pattern, _) in zip(had, patterns, strict=True):
        row[[place[round] for round in pattern if round in place]] = 1.0
    counts = np.array([count for _, count in patterns], dtype=np.float64)
    return np.asarray((had.T * counts) @ had)


def _of_one(history: History) -> Matrix:
    """The noise of a device that was counted in all rounds: entries of `B B^T`."""
    b = np.asarray(history.stage.factorisation.coefficients)
    rounds = np.array(history.rounds, dtype=np.intp)
    if len(b) == 1:
        return np.eye(len(rounds))
    lag = rounds[:, None] - np.arange(1, history.last + 1)[None, :]
    B = np.where(lag >= 0, b[np.maximum(lag, 0)], 0.0)
    return np.asarray(B @ B.T)
