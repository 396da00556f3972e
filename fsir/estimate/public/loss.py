"""How far off the directions are expected to be: the truth is drawn from what is known of it."""

from __future__ import annotations

import numpy as np

from fsir.arrays import Matrix
from fsir.estimate.public.posterior import Posterior
from fsir.estimate.public.within import whitening_of
from fsir.estimate.uncertainty import symmetric_noise

_SEED = 20130625  # the same integers must give the same published bits
_TRUTHS = 64
_MOST_BEYOND = 64  # coordinates beyond the map that are drawn one by one


def corrected_loss(known: Posterior, d: int, beyond: int) -> float:
    """The expected projection loss of the first d directions against the truth.

    In coordinates of unit covariance within slices: those of the map, and as many `beyond` it as
    there are features left, where slices are shifted as well and nobody has reported how.
    """
    rng = np.random.default_rng(_SEED)
    H, q = known.centres.shape
    drawn = min(beyond, _MOST_BEYOND)
    size = beyond / max(drawn, 1)  # each stands for so many
    sd = np.sqrt(known.variances)[:, None] * rng.standard_normal((_TRUTHS, H, q))
    far = np.sqrt(known.strangeness * size)[:, None] * rng.standard_normal((_TRUTHS, H, drawn))
    within = known.within + symmetric_noise(
        rng, _TRUTHS, q, 2.0 * known.within_variance, known.within_variance
    )
    there = _leading(known, np.concatenate([known.centres + sd, far], axis=-1), within, d)
    here = _leading(known, np.pad(known.centres, ((0, 0), (0, drawn))), known.within, d)
    shared = ((here.T @ there) ** 2).sum((-2, -1))
    return float(np.sqrt(np.maximum(2.0 * (d - shared), 0.0)).mean())


def _leading(known: Posterior, centres: Matrix, within: Matrix, d: int) -> Matrix:
    """An orthonormal basis of the first d directions; leading axes are replications."""
    q = within.shape[-1]
    whitening = np.zeros((*within.shape[:-2], *2 * centres.shape[-1:]))
    whitening[...] = np.eye(centres.shape[-1])
    whitening[..., :q, :q] = whitening_of(within)
    means = centres - (known.shares @ centres)[..., None, :]
    weighted = whitening @ means.swapaxes(-1, -2) * np.sqrt(known.shares)
    U = np.linalg.svd(weighted, full_matrices=False)[0][..., :d]
    return np.asarray(np.linalg.qr(whitening @ U)[0])
