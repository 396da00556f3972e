"""When reports may leave: once every receipt that the broker has kept for us has been read.

A state that was restored from before its report knows about that report only by the receipt on the
broker, and must see it before it sends another one. Brokers send what they keep in the order of our
topics, the receipt first and the task last; so with the task the receipt has come, on however slow
a link. Under a task of version 2 the answer to an ask (`edge_agent.exchange.instance`) has the same
receipt in it, and opens the gate instead.
"""

from __future__ import annotations

QUIET_SECONDS = 0.5  # after the task, for a broker that is not so strict about the order
# On a connection without a task: the broker may have lost it, and with it the receipts.
UNHEARD_SECONDS = 60.0


class Gate:
    """Closed at the beginning of each connection; `now` is any clock that never goes back.

    >>> gate = Gate(quiet_seconds=0.5)
    >>> gate.connect(100.0)
    >>> gate.hear_task()
    >>> gate.opens_at(102.0)
    102.5
    """

    def __init__(self, quiet_seconds: float) -> None:
        self._quiet_seconds = quiet_seconds
        self._opens_at: float | None = None
        # The task, on this connection; it may come before the broker confirms the subscription.
        self._heard = False

    def connect(self, now: float) -> None:
        """The subscriptions are in force."""
        self._opens_at = now + UNHEARD_SECONDS

    def disconnect(self) -> None:
        """Nothing can be sent until `connect`."""
        self._opens_at = None
        self._heard = False

    @property
    def connected(self) -> bool:
        """Whether anything can be sent at all."""
        return self._opens_at is not None

    def hear_task(self) -> None:
        """The task has come by."""
        self._heard = True

    def opens_at(self, now: float) -> float | None:
        """From when on reports may leave, as far as is known now; None without a connection."""
        if self._heard and self._opens_at is not None:
            self._opens_at = min(self._opens_at, now + self._quiet_seconds)
            self._heard = False
        return self._opens_at
