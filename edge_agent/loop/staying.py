"""An agent that has its receipts may leave the broker, and come back now and then.

Nothing more leaves such a device, and what it serves needs no connection: it only wants to hear of
newer versions of the subspace. It comes back after growing, jittered pauses, so that millions of
devices neither hold a connection nor come at once. While a report is made, waits or is awaited, it
stays: when it comes would tell when its records were complete.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence

from edge_agent.agent import Agent, Phase
from fsir.net.backoff import Delays

log = logging.getLogger("fsir.run")
LISTEN_SECONDS = 10.0  # what a broker keeps has come by then
AWAY = Delays(first=600.0, longest=86400.0)


class Staying:
    """Whether to keep the connection; `now` is any clock that never goes back."""

    def __init__(self, agents: Sequence[Agent], *, stays: bool) -> None:
        self._agents = agents
        self._stays = stays
        self._rng = random.SystemRandom()
        self._since: float | None = None  # when the last answer was there, on this connection
        self._absences = 0

    @property
    def due(self) -> float:
        """When to look again whether to leave."""
        return float("inf") if self._since is None else self._since + LISTEN_SECONDS

    def connected(self) -> None:
        """There is a new connection."""
        self._since = None

    def leaves_for(self, now: float) -> float | None:
        """For how many seconds to leave; None to stay. Asked while there is a connection."""
        if self._stays or not all(map(_needs_nothing, self._agents)):
            self._since = None
            return None
        if self._since is None:
            self._since = now
        if now < self.due:
            return None
        self._since = None
        seconds = AWAY.after(self._absences, self._rng)
        self._absences += 1
        log.info("leaving the broker: every report has its receipt; back in %.0f s", seconds)
        return seconds


def _needs_nothing(agent: Agent) -> bool:
    """Whether all reports of a device have their receipts, or it takes no part.

    An ask of this connection has its answer, too: it may say that the device was let in again.
    """
    return not agent.asking and (agent.phase is Phase.SERVING or bool(agent.reason))
