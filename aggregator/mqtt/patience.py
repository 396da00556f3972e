"""How long to wait before the next connection, and whether somebody else has our name.

A connection that ends comes back soon. But a broker lets one client in under a name: of two with
the same one each throws the other out, and mosquitto 2.0.11 does it without a word. Whoever is
thrown out again and again right after it has come in waits longer and longer, and says why.
"""

from __future__ import annotations

import random

from fsir.net.backoff import Delays

QUICK_SECONDS = 10.0  # a connection that ends sooner was hardly made ...
QUICK_ENDS = 3  # ... and so many in a row are no accident
CALM_SECONDS = 120.0  # one that has lasted longer than any wait makes all forgotten


class Patience:
    """Counts what became of connections; its waits grow while none is made, or none lasts."""

    def __init__(self, delays: Delays, rng: random.Random) -> None:
        self._delays = delays
        self._rng = rng
        self._failures = 0
        self._ends = 0
        self._quick = 0

    @property
    def crowded(self) -> bool:
        """Whether the last few connections all ended right after they were made."""
        return self._quick >= QUICK_ENDS

    def failed(self) -> float:
        """No connection came about; seconds to wait."""
        self._failures += 1
        return self._delays.after(self._failures, self._rng)

    def ended(self, seconds: float) -> float:
        """A connection has ended after so long; seconds to wait."""
        self._failures = 0
        self._ends = self._ends + 1 if seconds < CALM_SECONDS else 1
        self._quick = self._quick + 1 if seconds < QUICK_SECONDS else 0
        return self._delays.after(max(0, self._ends - QUICK_ENDS), self._rng)
