"""How many directions stand out of the noise, of the mechanism and of sampling together.

Singular values are compared one after the other with what noise alone gives in the dimensions that
are left. Mechanism noise alone as the reference would invent a direction in most runs of a large
federation.
"""

from __future__ import annotations

from fsir.arrays import Matrix

# The largest singular value of white noise follows the Tracy-Widom law; these are its quantiles for
# real matrices.
_CERTAIN = 2.0234  # 99%: a direction that is not there is counted in 1 of 100 federations
_LIKELY = 0.9793  # 95%


def noise_level(rows: int, columns: int, N: int, quantile: float = _LIKELY) -> float:
    """The 95% quantile of the largest singular value of `rows x columns` noise of variance 1/N.

    By Johnstone (2001); Ma (2012) shifts both dimensions by one half, which makes it accurate to 2%
    for matrices as small as 9 x 2.
    """
    a = (rows - 0.5) ** 0.5
    b = (columns - 0.5) ** 0.5
    edge = (a + b) ** 2 + quantile * (a + b) * (1.0 / a + 1.0 / b) ** (1.0 / 3.0)
    return float((edge / N) ** 0.5)


def count_directions(singular_values: Matrix, rows: int, columns: int, N: int) -> int:
    """How many singular values of whitened slice means stand out of the noise; maybe none."""
    for k, value in enumerate(singular_values):
        if value <= noise_level(rows - k, columns - k, N, _CERTAIN):
            return k
    return len(singular_values)
