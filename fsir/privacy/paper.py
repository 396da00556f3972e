"""The mechanisms of the paper, kept to reproduce and to audit it.

`iid` is the classical Gaussian mechanism on the slice sums and the paper's covariance lemma, with a
public clip instead of a norm taken from the data (erratum E7). `vgm` is the paper's vectorised
Gaussian mechanism with errata E1 and E2 mended: a floor that is a variance, and eigengaps that are
positive. It does not meet its claim (erratum E3): it draws the noise along the private singular
vectors. `none` adds nothing. `fsir.privacy.claims` says what is proven about them, docs/privacy.md
why.
"""

from __future__ import annotations

import math

import numpy as np

from fsir.arrays import Matrix
from fsir.privacy.noise import Noise


def eigengaps(singular_values: Matrix, p: int) -> Matrix:
    """`r_j = s_j - s_{j+1}` for the p singular values, those beyond the rank being 0.

    They are not negative (erratum E2).
    """
    s = np.zeros(p + 1)
    s[: len(singular_values)] = singular_values
    return s[:-1] - s[1:]


def vgm_floor(C: float, n: int, epsilon: float, delta: float) -> float:
    """The smallest variance of the noise on a slice mean (E1), for records of norm at most `C`."""
    return 8.0 * C * C * math.log(2.0 / delta) / (n * n * epsilon * epsilon)


def vgm_noise(M: Matrix, floor: float, Z: Matrix, d: int | None = None) -> Matrix:
    """Algorithm 2 of the paper: noise `W V^(1/2) Z`.

    `W` are the left singular vectors of the slice means `M`.
    """
    p = M.shape[0]
    W, s, _ = np.linalg.svd(M, full_matrices=True)
    gaps = eigengaps(s, p)
    if d is None:  # by ranking the gaps; the last one does not separate anything
        d = int(np.argmax(gaps[: p - 1])) + 1 if p > 1 else 1
    variances = np.full(p, floor)
    variances[:d] += gaps[:d]
    noise: Matrix = W @ (np.sqrt(variances)[:, None] * Z)
    return noise


def with_vgm_noise(sums: Matrix, n: int, unit: float, sd: float, noise: Noise) -> Matrix:
    """Sums of `n` records in grid steps worth `unit`, with the noise of VGM of floor `sd`.

    They are rounded to whole steps.
    """
    M = sums * unit / n
    Z = noise.normals(M.size).reshape(M.shape)
    E = vgm_noise(M, (sd / n) ** 2, Z)
    perturbed: Matrix = np.rint(sums + n * E / unit)
    return perturbed
