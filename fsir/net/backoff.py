"""Growing, jittered delays: a fleet that lost its broker must not come back as one wave."""

from __future__ import annotations

import random
from typing import NamedTuple


class Delays(NamedTuple):
    """Delays in seconds: after the k-th attempt about `first * 2^k`, at most `longest`.

    Each is multiplied by a random number from 0.5 to 1.5.
    """

    first: float = 5.0
    longest: float = 600.0

    def after(self, attempt: int, rng: random.Random) -> float:
        """Seconds to wait after attempt 0, 1, 2, ..."""
        return min(self.longest, self.first * 2.0 ** min(attempt, 40)) * rng.uniform(0.5, 1.5)
