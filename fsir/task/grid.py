"""The public grids on which values become whole numbers: steps are powers of two."""

from __future__ import annotations

import math


def grid_step(reach: float, bits: int) -> float:
    """The step of which at most `2^bits` lead from 0 to `reach`.

    >>> grid_step(3.0, 14) == 2.0**-12
    True
    """
    # The 1e-12 keeps the step the same on machines whose logarithms differ in the last bit.
    return float(2.0 ** math.ceil(math.log2(reach) - bits - 1e-12))
