"""How a new basis is read on the axes on which something was learned: pure mathematics.

Under a basis B a record x has the coordinates `B^T x`. What was learned is about `A^T x`, A being
the axes. A basis of the same space, however turned, scaled or sheared, tells `A^T x` exactly. If
the space has moved, the axes follow it by the smallest turn: of all turns onto the new space the
one with least squares (orthogonal Procrustes). Lengths and angles among axes stay, so that nothing
shrinks however many versions follow; least squares without that would shrink what it maps by the
cosine each time.

An axis whose direction has left the new space cannot be read any more. Where some have, what is
left are the principal directions of the old space that lie nearer to the new one than to its
complement. Lengths and angles are those of standardised features: nothing else is public.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fsir.arrays import Matrix

STILL_THERE = 0.5  # squared cosine to the new space from which on a direction can be read in it
HARDLY_MOVED = 0.93  # the same from which on the axes need not follow: 15 degrees; not tuned


@dataclass(frozen=True, eq=False, kw_only=True)
class Turn:
    """From old axes A to a new basis B."""

    cosines: Matrix  # of the principal angles between the two spaces, the largest first
    axes: Matrix  # features x dimension, in the new space: those that are left, then new ones
    reading: Matrix  # coordinates under B, times this, are those on `axes`
    kept: Matrix  # coordinates on A, times this, are those on the first of `axes`

    @property
    def only_turned(self) -> bool:
        """Whether the spaces are the same, or nearly so."""
        same_size = len(self.kept) == len(self.reading)
        return same_size and bool(self.cosines[-1] ** 2 >= HARDLY_MOVED)

    @property
    def degrees(self) -> float:
        """The largest angle between the spaces."""
        return float(np.degrees(np.arccos(self.cosines[-1])))

    @property
    def loss(self) -> float:
        """`||P_A - P_B||_F` of the directions that both have, see `fsir.projection_loss`."""
        return float(np.sqrt(2.0 * np.sum(1.0 - self.cosines**2)))

    def carried(self, z: Matrix) -> Matrix:
        """Rows of coordinates on the old axes, on the new ones; NaN where nobody knows."""
        old, left = self.kept.shape
        known = np.full((len(z), len(self.reading)), np.nan)
        known[:, :left] = z if left == old else z @ self.kept  # a product would spread what is NaN
        return known


def turn(A: Matrix, B: Matrix) -> Turn:
    """What becomes of the axes A (features x dimension) under the basis B of the same features.

    `numpy.linalg.LinAlgError` if a basis holds no finite numbers.
    """
    Q, T = np.linalg.qr(A)
    P, S = np.linalg.qr(B)
    U, cosines, Vt = np.linalg.svd(Q.T @ P)
    k = int(np.count_nonzero(cosines**2 >= STILL_THERE))
    if k == A.shape[1]:
        kept = np.eye(k)
        left = Vt[:k].T @ U.T @ T
    else:
        kept = np.linalg.pinv(T) @ U[:, :k]
        left = Vt[:k].T
    inside = np.hstack([left, Vt[k:].T])
    return Turn(
        cosines=np.minimum(cosines, 1.0),
        axes=P @ inside,
        reading=np.linalg.pinv(S) @ inside,
        kept=kept,
    )
