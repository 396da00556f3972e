"""What the owner's home is told: one table with all that is known right now."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from edge_agent.account.releases import spent
from edge_agent.account.tasks import recognition_of
from edge_agent.account.words import json_number
from edge_agent.agent import Agent, Phase
from edge_agent.consent.policy import Policy
from edge_agent.labels.tail import Tail
from edge_agent.output.home.discovery import REFUSED
from edge_agent.state.state import State
from fsir.privacy.plan import report_size


class Told:
    """Collects served records, and looks at the agents when it is asked.

    agents: of one device; the list may be filled later.
    """

    def __init__(
        self,
        state: State,
        directory: Path,
        policy: Policy,
        agents: Sequence[Agent],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.device = state.device
        self._state = state
        self._policy = policy
        self._agents = agents
        self._clock = clock
        self._labels = Tail(directory)
        self._served: dict[str, dict[str, Any]] = {}  # the latest of each task
        self._drifted: dict[str, int | None] = {}  # the version that no longer fits
        self._stand: list[tuple[Phase, str, int]] = []
        self._epsilon: float | None = None

    def serve(self, served: dict[str, Any]) -> None:
        """One record more."""
        name = served["task"]
        self._served[name] = {**served, "time": self._clock()}
        if "drift" in served:
            self._drifted[name] = served["version"]

    def classes(self) -> dict[str, tuple[str, ...]]:
        """Of each task; none before it is accepted."""
        tasks = {agent.name: agent.task for agent in self._agents}
        return {name: () if of is None else of.response.classes for name, of in tasks.items()}

    def table(self) -> dict[str, Any]:
        """All that is known; `None` where nothing is."""
        now = self._clock()
        self._labels.refresh()
        return {
            "device": self.device,
            "epsilon_spent": self._spent(),
            "epsilon_cap": self._policy.epsilon,
            "delta": self._policy.delta,
            "label": self._labels.timeline.over(now, now) or None,
            "tasks": {agent.name: self._task(agent) for agent in self._agents},
        }

    def _spent(self) -> float | None:
        """The total, which changes with a report only."""
        stand = [(agent.phase, agent.reason, agent.round) for agent in self._agents]
        if stand != self._stand:
            self._stand = stand
            self._epsilon = json_number(spent(self._state.ledger(), self._policy.delta))
        return self._epsilon

    def _task(self, agent: Agent) -> dict[str, Any]:
        served = self._served.get(agent.name, {})
        confidence = served.get("confidence")
        learning = agent.phase is Phase.LEARNING
        return {
            "phase": REFUSED if agent.task is None and agent.reason else str(agent.phase),
            "records": agent.n if learning else None,
            "of": report_size(agent.task) if learning and agent.task is not None else None,
            "problem": agent.reason or agent.held or agent.late,
            "activity": served.get("answer"),
            "confidence": None if confidence is None else round(100 * confidence, 1),
            "doubt": served.get("doubt"),
            "drift": self._has_drifted(agent, served.get("version")),
            "record": served.get("record"),
            "time": _iso(served["time"]) if served else None,
            "version": served.get("version"),
            "z": _finite(served.get("z")),
        }

    def _has_drifted(self, agent: Agent, version: int | None) -> bool:
        """Whether the subspace in use was found not to fit, in this run or in an earlier one."""
        if agent.name not in self._drifted:
            known = recognition_of(self._state, agent.name) or {"drift": None}
            self._drifted[agent.name] = None if known["drift"] is None else known["version"]
        drifted = self._drifted[agent.name]
        return drifted is not None and version in (None, drifted)


def _finite(z: list[float] | None) -> list[float] | None:
    """JSON has no infinity, and a broken sensor may bring one."""
    return z if z is not None and all(map(math.isfinite, z)) else None


def _iso(seconds: float) -> str:
    """
    >>> _iso(0.9)
    '1970-01-01T00:00:00+00:00'
    """
    return datetime.fromtimestamp(int(seconds), UTC).isoformat()
