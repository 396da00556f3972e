"""What is seen of a device in two rounds that two aggregators open, with exact laws.

The noise of rounds is correlated, that of the device and that of an honest aggregator, and each is
rounded by itself (docs/privacy.md, lemma 17). As in `views` a single number of the report moves, in
the first round: its two values, one of each round, have a law on pairs of whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.signal import fftconvolve
from scipy.special import ndtr

from fsir.arrays import Matrix
from fsir.contract import task_from_table
from fsir.privacy.claims import epsilon_if_both_collude
from fsir.privacy.plan import first_stage
from fsir.task.task import Task
from sim_devices.audit.finding import Finding
from sim_devices.audit.opened.integers import IntegerLaw, bound
from sim_devices.audit.opened.views import COHORT, Seen, numbers_of, shared_task
from sim_devices.audit.rounds.law import factor_of

ROUNDS = 2
_REACH_SIGMAS = 14.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)  # enough for steps of at most a sd


@dataclass(frozen=True, eq=False)
class PairLaw:
    """Probabilities of pairs of whole numbers, from `first` on in both."""

    first: tuple[int, int]
    probabilities: Matrix

    def plus(self, other: PairLaw) -> PairLaw:
        """The law of the sum of two independent pairs; sums are right to 1e-15 or so."""
        together = np.maximum(fftconvolve(self.probabilities, other.probabilities), 0.0)
        start = (self.first[0] + other.first[0], self.first[1] + other.first[1])
        return PairLaw(start, together)

    def doubled(self) -> PairLaw:
        """The law of the pair with twice its first number."""
        rows, columns = self.probabilities.shape
        spread = np.zeros((2 * rows - 1, columns))
        spread[::2] = self.probabilities
        return PairLaw((2 * self.first[0], self.first[1]), spread)

    def alone(self) -> PairLaw:
        """The law of the first number, beside a second one that is zero."""
        return PairLaw((self.first[0], 0), self.probabilities.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class SeenTwice:
    """The number of `Seen` in the first round, and in a second one in which nothing changes."""

    seen: Seen
    later: float  # its exact sum in the second round
    factor: Matrix  # rounds x normals, as the shipped noise has them
    narrower: float = 1.0  # what all noise is divided by

    @property
    def published(self) -> PairLaw:
        """What the device shares, round by round."""
        step = self.seen.block.step
        centres = (self.seen.exact / step, self.later / step)
        return rounded_pair(centres, self.seen.own / self.narrower, self.factor)

    @property
    def added(self) -> PairLaw:
        """What an honest aggregator adds, in one series."""
        sd = self.seen.block.added / self.seen.block.worth
        return rounded_pair((0.0, 0.0), sd / self.narrower, self.factor)


def rounded_pair(centres: tuple[float, float], sd: float, factor: Matrix) -> PairLaw:
    """`floor(centre + sd factor z + 1/2)` in both rounds, integrated over the first normal."""
    (own, none), (back, new) = factor
    if none != 0.0 or sd * min(own, new) < 1.0:
        raise ValueError(f"noise of {sd:g} steps with the factor {factor.tolist()}: too coarse")
    first = _outcomes(centres[0], sd * own)
    second = _outcomes(centres[1], sd * math.hypot(back, new))
    # Where the first normal lies, for each first outcome, and how likely that is.
    z = (first[:, None] + 0.5 * _NODES - centres[0]) / (sd * own)
    weight = 0.5 * _WEIGHTS * np.exp(-0.5 * z * z) / (math.sqrt(2.0 * math.pi) * sd * own)
    middle = centres[1] + sd * back * z
    inside = _between((second - middle[..., None]) / (sd * new), 0.5 / (sd * new))
    starts = (int(first[0]), int(second[0]))
    return PairLaw(starts, np.einsum("jk,jkl->jl", weight, inside))


def _outcomes(centre: float, sd: float) -> Matrix:
    reach = _REACH_SIGMAS * sd + 1.0
    return np.arange(math.floor(centre - reach), math.ceil(centre + reach) + 1.0)


def _between(away: Matrix, half: float) -> Matrix:
    """Of a normal, so far away and as wide on both sides; on the side where it is accurate."""
    far = -np.abs(away)
    return np.asarray(ndtr(far + half) - ndtr(far - half))


def one_honest(seen: SeenTwice) -> PairLaw:
    """All others are hostile: they know everything but this device and the noise of one."""
    return seen.published.plus(seen.added)


def both_collude(seen: SeenTwice) -> PairLaw:
    """Both aggregators put the shares of both reports together."""
    return seen.published


def norm_forgotten(seen: SeenTwice) -> PairLaw:
    """Device and aggregator, each with the noise of a single report in every round."""
    norm = math.sqrt(float(np.square(np.linalg.inv(seen.factor)[:, 0]).sum()))
    return one_honest(replace(seen, narrower=norm))


def opened_twice(seen: SeenTwice) -> PairLaw:
    """The first round again with fresh noise: the sum of what is said of it, and the second."""
    return seen.published.doubled().plus(seen.added).plus(seen.added.alone())


SHIPPED: dict[str, Callable[[SeenTwice], PairLaw]] = {
    "rounds-one-honest": one_honest,
    "rounds-both-collude": both_collude,
}
MUST_FAIL: dict[str, Callable[[SeenTwice], PairLaw]] = {
    "rounds-norm-forgotten": norm_forgotten,
    "rounds-opened-twice": opened_twice,
}


def task_of(epsilon: float, delta: float, cohort: int = COHORT) -> Task:
    """A task of two rounds that two aggregators open; nobody holds its keys."""
    table = shared_task(1, epsilon, delta, cohort).table()
    return task_from_table({**table, "report": {**table["report"], "rounds": ROUNDS}})


def asked(name: str, epsilon: float, delta: float, cohort: int = COHORT) -> Finding:
    """The exact curve of what is seen, against what is promised."""
    task = task_of(epsilon, delta, cohort)
    factor = factor_of(first_stage(task), ROUNDS)
    view = (SHIPPED | MUST_FAIL)[name]
    one, other = numbers_of(task)
    laws = [view(SeenTwice(seen, one.exact, factor)) for seen in (one, other)]
    claimed = epsilon_if_both_collude(task) if view is both_collude else epsilon
    return Finding(
        mechanism=f"opened ({name})",
        pair="sign",
        epsilon=claimed,
        delta=delta,
        bound=bound(*_in_a_row(*laws), claimed, delta),
        note=f"a cohort of {cohort}, {ROUNDS} rounds",
    )


def _in_a_row(one: PairLaw, other: PairLaw) -> tuple[IntegerLaw, IntegerLaw]:
    """Both laws over the same pairs, as laws of numbers: which pair it is does not matter."""
    starts = np.minimum(one.first, other.first)
    ends = np.maximum(*(np.add(law.first, law.probabilities.shape) for law in (one, other)))
    rows = []
    for law in (one, other):
        before = np.subtract(law.first, starts)
        after = ends - np.add(law.first, law.probabilities.shape)
        padded = np.pad(law.probabilities, np.stack([before, after], axis=1))
        rows.append(IntegerLaw(0, padded.ravel()))
    return rows[0], rows[1]
