"""ROC curves of repeated attacks: their mean, the area below, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import rankdata

from fsir.arrays import Flags, Matrix

GRID: Matrix = np.linspace(0.0, 1.0, 201)  # false positive rates at which curves are averaged


def area(inside: Matrix, outside: Matrix) -> float:
    """The probability that a member scores higher than a stranger; ties count half."""
    ranks = rankdata(np.concatenate([inside, outside]))[: len(inside)]
    m = len(inside)
    k = len(outside)
    return float((ranks.sum() - m * (m + 1) / 2) / (m * k))


def curve(inside: Matrix, outside: Matrix) -> Matrix:
    """True positive rates at the false positive rates of the grid."""
    thresholds = np.unique(np.concatenate([inside, outside]))[::-1]
    # Scores at or above each threshold, counted in sorted order.
    false, true = (
        1.0 - np.searchsorted(np.sort(scores), thresholds, side="left") / len(scores)
        for scores in (outside, inside)
    )
    return np.asarray(np.interp(GRID, np.append(0.0, false), np.append(0.0, true)))


def limit(mu: float) -> Matrix:
    """The highest curve that any attack on a release of cost `mu` can have, on average."""
    with np.errstate(divide="ignore"):
        return np.asarray(ndtr(ndtri(GRID) + mu))


def limit_area(mu: float) -> float:
    """The largest mean area of any attack:
    `Phi(mu / 2)`, because a member and a stranger can change places."""
    return float(ndtr(mu / 2.0))


@dataclass
class Traced:
    """One attack, repeated."""

    name: str
    areas: list[float] = field(default_factory=list)
    curves: list[Matrix] = field(default_factory=list)

    def add(self, scores: Matrix, members: Flags) -> None:
        """The scores of one repetition."""
        inside = scores[members]
        outside = scores[~members]
        self.areas.append(area(inside, outside))
        self.curves.append(curve(inside, outside))

    @property
    def mean(self) -> float:
        """Mean area."""
        return float(np.mean(self.areas))

    @property
    def half_width(self) -> float:
        """Half of the 95% confidence interval of the mean area."""
        return (
            1.96 * float(np.std(self.areas, ddof=1)) / math.sqrt(len(self.areas))
            if len(self.areas) > 1
            else math.inf
        )

    def mean_curve(self) -> Matrix:
        """The mean curve, on the grid."""
        return np.asarray(np.mean(self.curves, axis=0))


@dataclass(frozen=True)
class Panel:
    """All attacks on one data set."""

    title: str
    attacks: Sequence[Traced]
    mu: float  # cost of what the agent sends
    note: str = ""
