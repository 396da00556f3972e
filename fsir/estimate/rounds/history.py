"""What a federation has counted, round by round, and how the noise of its rounds hangs together.

Round t is the sum of what devices reported in it. The noise of a device is correlated over its
rounds, that of different devices is independent: so the noise of rounds s and t has the covariance
that a single device has there, times the number of devices that were counted in both.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from fsir.arrays import Integers, Matrix
from fsir.privacy.plan import Stage

# Products from which on BLAS is faster: for fewer its threads take longer to meet than to multiply.
_FOR_BLAS = 10**7


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


@dataclass(frozen=True, eq=False)
class Covariance:
    """How the noise of rounds hangs together, for each two rounds of a history."""

    had: Integers  # patterns x rounds: 1 where devices of the pattern were counted
    counts: Integers  # devices of each pattern
    shared: Matrix  # devices that were counted in both of two rounds
    noise: Matrix  # of a value, in units of the first round of one device

    def devices(self, weights: Matrix) -> int:
        """How many devices have a part in rounds of these weights."""
        return int(self.counts[self.had[:, weights > 0.0].any(axis=1)].sum())


def covariance_of(history: History) -> Covariance:
    """The noise of all rounds; it takes a look at every pattern, so ask once."""
    had = _membership(history)
    counts = np.array(list(history.patterns.values()), dtype=np.int64)
    shared = _shared_devices(had, counts)
    return Covariance(had, counts, shared, np.asarray(_of_one(history) * shared))


def _shared_devices(had: Integers, counts: Integers) -> Matrix:
    """Devices that were counted in both of two rounds: exact, whoever multiplies."""
    if had.size * had.shape[1] < _FOR_BLAS:
        return np.asarray((had.T * counts) @ had, dtype=np.float64)
    inside = had.astype(np.float64)
    return np.asarray((inside.T * counts) @ inside)


def _membership(history: History) -> Integers:
    """Which patterns have which rounds, all at once: there may be as many as devices."""
    rounds = history.rounds
    patterns = list(history.patterns)
    lengths = [len(pattern) for pattern in patterns]
    taken = np.fromiter(chain.from_iterable(patterns), np.intp, sum(lengths))
    had = np.zeros((len(patterns), max(history.last, taken.max(initial=0)) + 1), np.int64)
    had[np.repeat(np.arange(len(patterns)), lengths), taken] = 1
    return np.asarray(had[:, rounds])


def _of_one(history: History) -> Matrix:
    """The noise of a device that was counted in all rounds: entries of `B B^T`."""
    b = np.asarray(history.stage.factorisation.coefficients)
    rounds = np.array(history.rounds, dtype=np.intp)
    if len(b) == 1:
        return np.eye(len(rounds))
    lag = rounds[:, None] - np.arange(1, history.last + 1)[None, :]
    B = np.where(lag >= 0, b[np.maximum(lag, 0)], 0.0)
    return np.asarray(B @ B.T)
