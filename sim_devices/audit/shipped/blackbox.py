"""The audit of a black box: from published bytes alone,
how well can two neighbouring streams be told apart?

The score is along the difference that the public formulas predict, or, if some runs that are set
apart show that it is better, along Fisher's direction, which finds noise that was shared between
reports. The other runs test it. Two bounds come out of the rates of right and wrong answers, both
from Clopper and Pearson's limits:

- `epsilon >= log((P - delta) / Q)`: nothing is assumed;
- `mu >= Phi^-1(P) - Phi^-1(Q)`: refutes the curve that theorem 1 claims, of which (epsilon, delta)
  is one point. With a few thousand runs it sees far more at a small delta.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from fsir.arrays import Matrix
from fsir.privacy import accounting
from fsir.task.task import Task
from sim_devices.audit.finding import CONFIDENCE, RISK, Bound, at_least, at_most, best
from sim_devices.audit.shipped.scores import Side

TRAINING = 0.2  # share of the runs that teach the score
_MANY = 300  # numbers, of which a few runs teach nothing
# Three bounds of two probabilities each share the risk of being wrong.
_RISK = RISK / 6


def bound(task: Task, first: Side, second: Side) -> Bound:
    """A lower bound on epsilon at the task's delta from runs on two streams."""
    ours = vectors(first)
    theirs = vectors(second)
    cut = int(TRAINING * len(ours))
    direction = _learn(ours[:cut], theirs[:cut], predicted(first, second))
    taught = ours[:cut] @ direction, theirs[:cut] @ direction
    tested = ours[cut:] @ direction, theirs[cut:] @ direction
    return best(
        _curve(taught, tested, task),
        _free(taught, tested, task),
        # The other stream as the one that is claimed to be there.
        _free((-taught[1], -taught[0]), (-tested[1], -tested[0]), task),
    )


def vectors(side: Side) -> Matrix:
    """All that the runs say: numbers in standard deviations of the noise that each should have,
    and votes."""
    numbers = side.integers() * (side.worth() / side.sd())
    votes = side.votes()
    return numbers if votes is None else np.hstack([numbers, votes.astype(np.float64)])


def predicted(first: Side, second: Side) -> Matrix:
    """By how much these should differ between the streams; nothing is predicted about votes."""
    shift = (first.mean() - second.mean()) / first.sd()
    votes = first.votes()
    return shift if votes is None else np.append(shift, np.zeros(votes.shape[1]))


def _learn(first: Matrix, second: Matrix, expected: Matrix) -> Matrix:
    """The expected direction, unless Fisher's separates clearly better
    the runs that it was not learned from."""
    if len(expected) > _MANY:
        return expected
    half = len(first) // 2
    shift = first[:half].mean(axis=0) - second[:half].mean(axis=0)
    spread = 0.5 * (np.cov(first[:half].T) + np.cov(second[:half].T)) + 1e-6 * np.eye(len(shift))
    fisher = np.asarray(np.linalg.solve(spread, shift))

    def separation(direction: Matrix) -> float:
        a = first[half:] @ direction
        b = second[half:] @ direction
        return float((a.mean() - b.mean()) / math.sqrt(0.5 * (a.var() + b.var()) + 1e-300))

    return fisher if separation(fisher) > 1.3 * separation(expected) else expected


def _free(taught: tuple[Matrix, Matrix], tested: tuple[Matrix, Matrix], task: Task) -> Bound:
    """No assumption: the threshold from the runs that taught, the rates from the others."""
    odds = math.exp(task.privacy.epsilon)
    delta = task.privacy.delta
    grid = np.quantile(np.concatenate(taught), np.linspace(0.02, 0.98, 97))
    cut = max(
        grid, key=lambda value: (taught[0] > value).mean() - odds * (taught[1] > value).mean()
    )
    p, q = _rates(tested, float(cut))
    epsilon = math.log((p - delta) / q) if p > delta + q else 0.0
    return Bound(
        epsilon, max(0.0, p - odds * q), CONFIDENCE, f"rates of {len(tested[0])} runs a side"
    )


def _curve(taught: tuple[Matrix, Matrix], tested: tuple[Matrix, Matrix], task: Task) -> Bound:
    """The claimed Gaussian curve: the middle between the two streams tells most about its `mu`."""
    p, q = _rates(tested, 0.5 * (float(taught[0].mean()) + float(taught[1].mean())))
    mu = max(0.0, float(ndtri(p) - ndtri(q)))
    epsilon = accounting.epsilon_of(mu, task.privacy.delta) if mu > 0.0 else 0.0
    method = (
        f"Gaussian curve through the rates of {len(tested[0])} runs a side, mu at least {mu:.4g}"
    )
    return Bound(epsilon, accounting.delta_of(mu, task.privacy.epsilon), CONFIDENCE, method)


def _rates(tested: tuple[Matrix, Matrix], cut: float) -> tuple[float, float]:
    """How often the first stream is recognised, at least,
    and the second one taken for it, at most."""
    hits, errors = (int((values > cut).sum()) for values in tested)
    return at_least(hits, len(tested[0]), 1.0 - _RISK), at_most(errors, len(tested[1]), 1.0 - _RISK)
