"""What sliced inverse regression needs of a stream: sums of its records, slice by slice.

The estimate is the aggregator's without noise, and with a covariance that few records can bear: of
p features and N records the part `p / (p + N)` of all correlations is taken away. The first records
are then judged feature by feature, and features that say the same do no harm.
"""

from __future__ import annotations

import numpy as np

from fsir.arrays import Matrix
from fsir.estimate.covariance import Levels, centred
from fsir.estimate.directions import directions, standardised, whitened

_NO_NOISE = Levels(0.0, 0.0, 0.0, 0.0)
_TINY = 1e-12  # records are standardised: a smaller variance is that of a constant


class Sums:
    """Counts, sums and second moment of standardised records; a new slice may come at any time."""

    def __init__(self, p: int) -> None:
        self.n = 0
        self._counts: Matrix = np.zeros(0)
        self._sums: Matrix = np.zeros((p, 0))
        self._second: Matrix = np.zeros((p, p))

    def add(self, u: Matrix, h: int) -> None:
        """One more record, of slice h."""
        if (new := h + 1 - len(self._counts)) > 0:
            self._counts = np.pad(self._counts, (0, new))
            self._sums = np.pad(self._sums, ((0, 0), (0, new)))
        self.n += 1
        self._counts[h] += 1.0
        self._sums[:, h] += u
        self._second += np.outer(u, u)

    def directions(self, d: int) -> tuple[Matrix, Matrix] | None:
        """The mean, and at most d directions with uncorrelated coordinates of unit variance.

        None while there is nothing to tell apart.
        """
        seen = self._counts > 0.0
        d = min(d, int(seen.sum()) - 1, len(self._sums))
        if d < 1:
            return None
        N = self.n
        m = centred(self._sums[:, seen] / N, self._counts[seen] / N, self._second / N, N, _NO_NOISE)
        Sigma = _shrunk(m.Sigma, N)
        try:
            beta = directions(m, whitened(m, Sigma), d)
            return m.mean, standardised(m, Sigma, beta)
        except np.linalg.LinAlgError:
            return None  # all records alike: the next time will do


def _shrunk(Sigma: Matrix, N: int) -> Matrix:
    variances = np.diagonal(Sigma)
    part = len(Sigma) / (len(Sigma) + N)
    own = np.diag(np.where(variances > _TINY, variances, 1.0))
    return np.asarray((1.0 - part) * Sigma + part * own)


def turned(basis: Matrix, before: Matrix) -> Matrix:
    """The basis of the same space that is closest to the one before, which may have had fewer."""
    if before.shape[1] > basis.shape[1]:
        return basis
    U, _, V = np.linalg.svd(basis.T @ before)
    rotation = U.copy()
    rotation[:, : len(V)] = U[:, : len(V)] @ V
    return np.asarray(basis @ rotation)
