"""How rounds scatter where nothing changes: the law of differences between means of rounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fsir.arrays import Flags, Matrix
from fsir.estimate.covariance import Merged, merged, within
from fsir.estimate.rounds.history import Covariance, History
from fsir.estimate.totals import Totals

_TINY = 1e-12  # features are publicly scaled: a smaller variance is that of a constant
_MOST_EXCESS = 1e4
_STEPS = 30  # of a bisection


class Law:
    """Slice sums per record, their differences between rounds, and how large these should be.

    A difference has the noise of the mechanism, the same in every direction and correlated over
    rounds, and the sampling of records: that of independent ones, times how much more widely
    successive rounds scatter. `pooled` are the totals of all rounds.
    """

    def __init__(self, history: History, covariance: Covariance, pooled: Totals) -> None:
        block = history.stage.sums
        rounds = history.rounds
        p = history.stage.p
        self._n = np.array([history.records[t] for t in rounds], dtype=np.float64)
        rounding = np.diag(np.diagonal(covariance.shared))
        self._noise = block.sd**2 * covariance.noise + (block.variance - block.sd**2) * rounding
        values, vectors = np.linalg.eigh(_of_one_record(merged(pooled)))
        self._sampling = np.maximum(values, _TINY)  # slices x directions
        sums = np.stack([history.sums[t][history.stage.spans[0]] for t in rounds]) * block.worth
        by_slice = sums.reshape(len(rounds), p, -1).transpose(2, 0, 1)
        self._sums = by_slice @ vectors  # slices x rounds x directions
        self._sampling *= self._excess()[:, None]

    def distances(self, recents: Sequence[int], window: int) -> Matrix:
        """Of the last rounds from those before them in a window, recents x slices.

        Squared, in units of what they should be: chi-square if nothing has changed, with as many
        degrees of freedom as there are coordinates.
        """
        end = len(self._n)
        contrasts = [self._contrast(end - window, end - recent, end) for recent in recents]
        squares, noise, records = self._squares(np.stack(contrasts))
        return np.asarray((squares / (noise + records * self._sampling)).sum(-1))

    def _squares(self, contrasts: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        """Squared differences, contrasts x slices x directions; their noise, and records."""
        squares = (contrasts @ self._sums).swapaxes(0, 1) ** 2
        noise = ((contrasts @ self._noise) * contrasts).sum(-1)
        records = contrasts**2 @ self._n
        return squares, noise[:, None, None], records[:, None, None]

    def _contrast(self, first: int, middle: int, end: int) -> Matrix:
        """The weights of rounds in the difference of two means per record, of neighbours."""
        contrast = np.zeros(len(self._n))
        contrast[first:middle] = -1.0 / self._n[first:middle].sum()
        contrast[middle:end] = 1.0 / self._n[middle:end].sum()
        return contrast

    def _excess(self) -> Matrix:
        """By what factor successive rounds scatter more widely than independent records; or 1.

        For each slice it is what makes the median of their squared distances that of the
        chi-square law. Of a single jump the median knows nothing, and steady drift is small from
        one round to the next.
        """
        pairs = [self._contrast(k, k + 1, k + 2) for k in range(len(self._n) - 1)]
        squares, noise, records = self._squares(np.stack(pairs))
        usual = _chi_square_median(squares.shape[-1])
        if not _too_wide(squares, noise + records * self._sampling, usual).any():
            return np.ones(squares.shape[1])
        low = np.zeros(squares.shape[1])  # logarithms of the factor
        high = np.full(squares.shape[1], np.log(_MOST_EXCESS))
        for _ in range(_STEPS):
            middle = (low + high) / 2.0
            variance = noise + records * self._sampling * np.exp(middle)[:, None]
            too_wide = _too_wide(squares, variance, usual)
            low = np.where(too_wide, middle, low)
            high = np.where(too_wide, high, middle)
        return np.asarray(np.exp(high))


def _too_wide(squares: Matrix, variance: Matrix, usual: float) -> Flags:
    """Of which slices the median of squared distances is larger than usual."""
    return np.asarray(np.median((squares / variance).sum(-1), axis=0) > usual)


def _of_one_record(m: Merged) -> Matrix:
    """The covariance of a record times the indicator of a slice, slices x p x p.

    The spread within slices is pooled, since nobody reports that of each.
    """
    shares = m.weights
    sums = (m.M + m.mean[:, None] * m.shares).T
    outer = sums[:, :, None] * sums[:, None, :] * (1.0 / shares - 1.0)[:, None, None]
    return np.asarray(shares[:, None, None] * within(m) + outer)


def _chi_square_median(freedom: int) -> float:
    """By Wilson and Hilferty (1931)."""
    return freedom * (1.0 - 2.0 / (9.0 * freedom)) ** 3
