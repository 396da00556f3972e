"""How often a classifier is expected to be right about people who took no part.

It is computed by drawing such people from what is known of them. A public sample is too good to be
true where its own directions are concerned: strangers scatter far more widely. How much more is
found from the share of records about which the *public* rule is right, which devices report: the
scatter is taken as wide as it must be for that. Its shape lies between two that are known, that of
the sample and that of the reports, which the corrected rule was made for; what is expected is the
mean of both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fsir.arrays import Matrix

_SEED = 20130625  # the same integers must give the same published bits
_TRUTHS = 64  # drawn ...
_RECORDS = 16  # ... and records of each class in each of them
_CLOSER = 0.25  # for confidence: a wrong record of a wide crowd would be wrong beyond any doubt
_WORST = 1e4  # misfit, and temperature, that is looked for
_STEPS = 24  # of a bisection


@dataclass(frozen=True, eq=False)
class Rule:
    """Linear scores `r @ weights^T + bias` of records in the coordinates of the map."""

    weights: Matrix  # classes x coordinates
    bias: Matrix


@dataclass(frozen=True, eq=False, kw_only=True)
class Strangers:
    """What is known of people who took no part."""

    centres: Matrix  # classes x coordinates
    variances: Matrix  # of each class's centre, in every coordinate
    shapes: tuple[Matrix, ...]  # covariances within classes that are possible
    shares: Matrix  # of the classes
    public: Rule | None = None
    public_right: float | None = None  # how often the public rule is right about them


@dataclass(frozen=True)
class Prediction:
    """How often a classifier is right, and what its scores must be divided by to say so."""

    accuracy: float
    temperature: float


class _Crowd:
    """Records of strangers as two rules score them; how widely they scatter is left open."""

    def __init__(self, known: Strangers, shape: Matrix, rules: tuple[Rule, Rule]) -> None:
        rng = np.random.default_rng(_SEED)
        H = len(known.shares)
        both = np.concatenate([rule.weights for rule in rules])
        bias = np.concatenate([rule.bias for rule in rules])
        # Scores are all that is needed: as many numbers as there are classes, twice.
        own = _root(both @ both.T)
        spread = _root(both @ shape @ both.T)
        k = len(both)
        moved = rng.standard_normal((H, _TRUTHS, 1, k)) @ own
        moved = moved * np.sqrt(known.variances)[:, None, None, None]
        places = known.centres @ both.T + bias
        self._middle = known.shares @ places
        self._places = (places - self._middle)[:, None, None] + moved
        self._scatter = rng.standard_normal((H, _TRUTHS, _RECORDS, k)) @ spread
        self._shares = known.shares
        self._classes = np.arange(H)[:, None, None]

    def scores(self, misfit: float, closer: float = 0.0) -> tuple[Matrix, Matrix]:
        """Of both rules: classes x truths x records x classes.

        A misfit means that records scatter more widely than the sample shows; by the share
        `closer` of it, on a scale of logarithms, that classes lie closer to each other instead.
        """
        wider = misfit ** (0.5 * (1.0 - closer))
        nearer = misfit ** (0.5 * closer)
        both = self._middle + self._places / nearer + self._scatter * wider
        first, second = np.split(both, 2, axis=-1)
        return first, second

    def right(self, scores: Matrix) -> float:
        """The share of records whose own class has the highest score."""
        hits = scores.argmax(-1) == self._classes
        # Shares add up to 1 but for rounding errors: more than 1 would be no share.
        return min(float(self._shares @ hits.mean((1, 2))), 1.0)

    def confidence(self, behind: Matrix) -> float:
        """The mean of the chances that scores give to the class that they name.

        `behind` is what each score has more than the highest one, classes first.
        """
        chances = 1.0 / np.exp(behind).sum(0)
        return float(self._shares @ chances.mean((1, 2)))


def predicted(rule: Rule, known: Strangers) -> Prediction:
    """What to expect of the rule on records of people who took no part."""
    accuracies = []
    for shape in known.shapes:
        crowd = _Crowd(known, shape, (known.public or rule, rule))
        misfit = 1.0
        if known.public_right is not None:
            misfit = _misfit(crowd, known.public_right)
        accuracies.append(crowd.right(crowd.scores(misfit)[1]))
    accuracy = float(np.mean(accuracies))
    scores = crowd.scores(misfit, _CLOSER)[1]
    return Prediction(accuracy, _temperature(crowd, scores, accuracy))


def _misfit(crowd: _Crowd, public_right: float) -> float:
    """How little the sample must fit strangers for the public rule to be right so often."""

    def too_good(log_misfit: float) -> bool:
        return crowd.right(crowd.scores(float(np.exp(log_misfit)))[0]) > public_right

    return float(np.exp(_edge(too_good, -np.log(_WORST), np.log(_WORST))))


def _temperature(crowd: _Crowd, scores: Matrix, accuracy: float) -> float:
    """What to divide scores by so that the mean confidence is the accuracy."""
    by_class = np.ascontiguousarray(np.moveaxis(scores, -1, 0))  # numpy is slow along short axes
    behind = by_class - by_class.max(0)

    def too_sure(log_temperature: float) -> bool:
        return crowd.confidence(behind / np.exp(log_temperature)) > accuracy

    return float(np.exp(_edge(too_sure, -np.log(_WORST), np.log(_WORST))))


def _edge(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Up to where something holds that holds below an edge, and not above it."""
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        if holds(middle):
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def _root(S: Matrix) -> Matrix:
    values, vectors = np.linalg.eigh(S)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
