"""How a daemon is: whether anything can be counted now, and if not, why."""

from __future__ import annotations

import time
from collections.abc import Callable

from aggregator.overview.words import time_text

STALE_SECONDS = 60.0  # a loop that has not turned for so long is not healthy
_SILENT = (
    "most likely it does not answer: the loop has not turned for a minute. A server that waits for "
    "its synchronous standby does that (docs/scale.md)"
)


class Health:
    """What the loop of a daemon notes down, and what `/healthz` makes of it."""

    def __init__(self, unshared: Callable[[], str]) -> None:
        self.connected = False
        self.trouble = ""  # why the store cannot be written
        self._unshared = unshared  # why the shared subscription delivers nothing
        self._broker = "not connected yet"  # why there is no connection
        self._connections = 0  # since the start
        self._since = time.time()  # when the connection was made or lost
        self._turned = time.monotonic()

    def turn(self) -> None:
        """The loop is alive."""
        self._turned = time.monotonic()

    def connect(self) -> None:
        """A connection was made."""
        self._connections += 1
        self._since = time.time()
        self.connected = True

    def fail(self, broker: str) -> None:
        """A connection could not be made, or was lost: why."""
        self._broker = broker

    def disconnect(self) -> None:
        """There is no connection, whether there was one or not."""
        if self.connected:
            self._since = time.time()
        self.connected = False

    def shown(self) -> dict[str, object]:
        """For `/healthz`: `ok` is false while nothing can be counted."""
        turning = time.monotonic() - self._turned < STALE_SECONDS
        unshared = self._unshared()
        return {
            "ok": self.connected and turning and not self.trouble and not unshared,
            "connected": self.connected,
            "broker": "ok" if self.connected else self._broker,
            "since": time_text(self._since),
            "connections": self._connections,
            "store": self.trouble or ("ok" if turning else _SILENT),
            "share": unshared or "ok",
            "turning": turning,
        }
