"""What a random word stands for, by the inverse normal of the standard library."""

from __future__ import annotations

import math
from statistics import NormalDist

from fsir.privacy.normal import SIGNIFICANT_BITS


def normal_of(word: int, bits: int = SIGNIFICANT_BITS) -> float:
    """The standard normal that a word of 128 bits stands for.

    Fewer `bits` exist to test the form of the error bound.
    """
    tail = (word | 1) / 2.0**129  # in (0, 1/2]; the division rounds to 53 significant bits
    if bits < SIGNIFICANT_BITS:
        mantissa, exponent = math.frexp(tail)
        tail = min(math.ldexp(round(mantissa * 2.0**bits) / 2.0**bits, exponent), 0.5)
    z = -NormalDist().inv_cdf(tail)
    return z if word & 1 else -z
