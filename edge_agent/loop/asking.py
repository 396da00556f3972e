"""A broker may have lost what a device waits for: subscribing again brings retained messages."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Sequence

from edge_agent.agent import Agent, Phase
from fsir.net.backoff import Delays
from fsir.wire.messages import topic

log = logging.getLogger("fsir.run")
AGAIN = Delays(first=15.0, longest=3600.0)  # for what the broker should have and has not sent


class Asking:
    """When to ask again, and for what."""

    def __init__(self, agents: Sequence[Agent]) -> None:
        self._agents = agents
        self._rng = random.SystemRandom()
        self._asked = 0
        self.due = float("inf")

    def connected(self, now: float) -> None:
        """The first subscription is in force."""
        self._asked = 0
        self.due = now + AGAIN.after(0, self._rng)

    def ask(self, now: float, subscribe: Callable[[list[str]], object]) -> None:
        """Ask for everything that some device cannot go on without."""
        self._asked += 1
        self.due = now + AGAIN.after(self._asked, self._rng)
        if topics := self.topics():
            subscribe(topics)
        for agent in self._agents:
            if self._asked == 1 and agent.phase is Phase.WAITING and not agent.reason:
                log.warning(
                    "%s: there is no such task on the broker yet; is the name right?", agent.name
                )

    def topics(self) -> list[str]:
        """What the devices wait for."""
        return [about for agent in self._agents for about in awaited(agent)]


def awaited(agent: Agent) -> list[str]:
    """The topics of messages that a device cannot go on without.

    A broker may forget who has subscribed, too: one of them does if another client comes by under
    the same name. Then a receipt, or the answer to an ask, would never be heard.
    """
    if agent.reason:
        return []
    kinds = {
        Phase.WAITING: "task",
        Phase.SCREENED: "active",
        Phase.SERVING: None if agent.serving else "subspace",
    }
    kind = kinds.get(agent.phase)
    needed = [] if kind is None else [topic(agent.name, kind)]
    if not agent.pending:
        return needed
    receipt = topic(agent.name, "receipt", agent.state.device)
    return [*(name for name in agent.subscriptions() if name.startswith(receipt)), *needed]
