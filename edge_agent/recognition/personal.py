"""The device's own classifier where the federation says where classes lie: it starts from there.

The federation publishes coordinates in which every class has unit covariance around its centre.
Here these are the prior of a Gaussian discriminant: centres are drawn around the federation's, and
one covariance that all classes share around the unit matrix (normal and inverse Wishart, which are
conjugate). Each labelled record moves both a little, in closed form. Before the first label the
answers are the federation's, with a little more doubt; after a few, nearly so.

What is kept are sums: for each class its weight and the sum of deviations from the federation's
centre, and one matrix of products, all in float32. Old records fade.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsir.arrays import Matrix

# Weights and memories are in records. On UCI HAR a centre's weight of 3 or 10 and a spread's of 50
# or 200 move accuracy by about one in a hundred at most; memories were not tuned.
CENTRE_WEIGHT = 5.0  # of the federation's centre: it is off by a third to a half of the spread
SPREAD_WEIGHT = 100.0  # of its spread: about as many as there are coordinates, which fewer tell not
SHARES_WEIGHT = 500.0  # of its shares: what an owner labels is no fair sample of what they do
CENTRE_MEMORY = 200.0  # of the centre of a class, in records of that class
SPREAD_MEMORY = 1000.0  # of the spread: it has far more numbers than a centre
REACH = 30.0  # spreads; whatever is farther from a centre is learned as if it were so far
FLOAT = "<f4"  # what is kept; also while running, so that a restart changes nothing
Kept = NDArray[np.float32]


@dataclass(frozen=True, eq=False, kw_only=True)
class Prior:
    """What the federation says: where classes lie, around which the spread is 1, and how many."""

    classes: tuple[str, ...]
    centres: Matrix  # classes x coordinates
    shares: Matrix  # of the classes


class Personal:
    """A Bayesian discriminant around the federation's centres."""

    def __init__(self, prior: Prior) -> None:
        self._prior = prior
        H, q = prior.centres.shape
        self._rows = {label: h for h, label in enumerate(prior.classes)}
        self._counts: Kept = np.zeros(H, FLOAT)  # labelled records, all of them: nothing fades here
        self._weights: Kept = np.zeros(H, FLOAT)
        self._sums: Kept = np.zeros((H, q), FLOAT)  # of deviations from the federation's centres
        self._spread: Kept = np.zeros((q, q), FLOAT)
        self._spread_weight = 0.0
        self._inverse: Matrix | None = None  # of the covariance; None: not up to date

    # --- one record -------------------------------------------------------------------------------

    def scores(self, v: Kept) -> dict[str, float]:
        """Logarithms of the predictive probability of each class, up to a constant.

        What is predicted follows a Student distribution: who knows little doubts.
        """
        q = len(v)
        gaps = v - self._centres()
        inverse = self._inverted()
        weights = CENTRE_WEIGHT + self._weights.astype(np.float64)
        widths = 1.0 + 1.0 / weights
        freedom = self._freedom()
        squares = np.maximum(((gaps @ inverse) * gaps).sum(axis=1), 0.0) / widths
        heights = -0.5 * (q * np.log(widths) + (freedom + q) * np.log1p(squares / freedom))
        totals = np.log(self._shares()) + heights
        return dict(zip(self._prior.classes, totals.tolist(), strict=True))

    def learn(self, v: Kept, label: str) -> None:
        """The label of a record has come."""
        h = self._rows[label]
        weight = CENTRE_WEIGHT + float(self._weights[h])
        gap = _within_reach(v - self._centres()[h])
        self._spread *= np.float32(1.0 - 1.0 / SPREAD_MEMORY)
        self._spread += np.outer(gap, gap * weight / (weight + 1.0)).astype(np.float32)
        self._spread_weight = self._spread_weight * (1.0 - 1.0 / SPREAD_MEMORY) + 1.0
        fade = np.float32(1.0 - 1.0 / CENTRE_MEMORY)
        self._weights[h] = self._weights[h] * fade + 1
        self._sums[h] = self._sums[h] * fade + _within_reach(v - self._prior.centres[h])
        self._counts[h] += 1
        self._inverse = None

    @property
    def learned(self) -> Counter[str]:
        """Labelled records by class."""
        return Counter(dict(zip(self._prior.classes, map(int, self._counts), strict=True)))

    # --- what the sums say ------------------------------------------------------------------------

    def _centres(self) -> Matrix:
        weights = CENTRE_WEIGHT + self._weights.astype(np.float64)
        return np.asarray(self._prior.centres + self._sums / weights[:, None])

    def _shares(self) -> Matrix:
        counts = self._counts + SHARES_WEIGHT * self._prior.shares
        return np.asarray(counts / counts.sum())

    def _freedom(self) -> float:
        return SPREAD_WEIGHT + self._spread_weight

    def _inverted(self) -> Matrix:
        if self._inverse is None:
            total = self._spread.astype(np.float64)
            total[np.diag_indices_from(total)] += SPREAD_WEIGHT
            self._inverse = np.asarray(np.linalg.inv(total) * self._freedom(), np.float64)
        return self._inverse

    # --- versions and restarts --------------------------------------------------------------------

    def turned(self, prior: Prior, R: Matrix) -> Personal:
        """What was learned, around another prior, whose coordinates are `v @ R`.

        As if all records had been learned there, but for gaps: these stay those to the centre of
        their time.
        """
        turned = Personal(prior)
        turned._counts = self._counts.copy()
        turned._weights = self._weights.copy()
        moved = self._prior.centres @ R - prior.centres
        turned._sums = (self._sums @ R + self._weights[:, None] * moved).astype(FLOAT)
        spread = R.T @ self._spread @ R
        turned._spread = ((spread + spread.T) / 2.0).astype(FLOAT)
        turned._spread_weight = self._spread_weight
        return turned

    def table(self) -> dict[str, Any]:
        """Plain values, for the state file."""
        return {
            "counts": self._counts.tobytes(),
            "weights": self._weights.tobytes(),
            "sums": self._sums.tobytes(),
            "spread": self._spread[np.triu_indices_from(self._spread)].tobytes(),
            "spread_weight": self._spread_weight,
        }

    @classmethod
    def of(cls, prior: Prior, table: Mapping[str, Any]) -> Personal:
        """From `table`, under the same prior."""
        restored = cls(prior)
        restored._counts = np.frombuffer(table["counts"], FLOAT).copy()
        restored._weights = np.frombuffer(table["weights"], FLOAT).copy()
        restored._sums = np.frombuffer(table["sums"], FLOAT).reshape(prior.centres.shape).copy()
        upper = np.triu_indices_from(restored._spread)
        restored._spread[upper] = np.frombuffer(table["spread"], FLOAT)
        restored._spread.T[upper] = restored._spread[upper]
        restored._spread_weight = table["spread_weight"]
        return restored


def _within_reach(gap: Matrix) -> Matrix:
    # A broken sensor must not spoil sums.
    return np.clip(gap, -REACH, REACH)
