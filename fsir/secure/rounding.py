"""How close a sum of two rounded Gaussians is to one Gaussian that is rounded.

What is seen of a device is its own rounded noise plus that of an honest aggregator. Rounding twice
is not one rounding: docs/privacy.md, lemma 16, bounds the difference.
"""

from __future__ import annotations

import math


def rounding_error(device: float, added: float) -> float:
    """Bound on the log of the ratio of probabilities of any one outcome.

    For noise of so many steps on the device and at the aggregator, against the Gaussian of the sum
    of both variances, with a uniform number of one step added before it is rounded.

    >>> rounding_error(2.0, 2.0 * 20**0.5) < 1e-30
    True
    """
    between = (device * added) ** 2 / (device**2 + added**2)
    first = math.exp(-2.0 * math.pi**2 * between)
    # The terms of the theta series behind the first are below its powers 4, 9, ...
    theta = 2.0 * first / (1.0 - first**3)
    return theta / (1.0 - theta) if theta < 1.0 else math.inf
