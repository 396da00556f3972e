"""When the records of a source may pass: not before somebody has a use for them.

A file stays where it is, and whoever writes into a pipe waits until it is read: neither is read
while no task wants records and none serves, so that nothing is lost. A sensor does not wait. It is
opened when the first task is accepted, and stays open: what comes while nobody wants it passes by,
and is counted.

Of several tasks the first one that is accepted begins; for the others the source waits a little. A
file does so for two seconds after the broker has answered, because a task that comes later gets its
records when the agent starts again. Elsewhere they would be gone: there it is a minute after the
first one. A task that is refused, or never comes, holds up the others for no longer.

Between two rounds records pass by until the receipt of the first is there. A file or a pipe waits
for it, so that no round lacks them; but for no longer than a minute, since whoever serves from it
goes on offline.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence

from edge_agent.agent import Agent, Phase
from edge_agent.sources.base import Source, is_patient

log = logging.getLogger("fsir.run")
HOLD_SECONDS = 2.0  # for which a file waits until every task is known
PATIENCE_SECONDS = 60.0  # the same for what cannot be read again
RECEIPT_SECONDS = 60.0  # for which a file or a pipe waits between two rounds
TELL_SECONDS = 2.0  # of waiting, after which it is said; most tasks are there sooner
TELL_AGAIN_SECONDS = 3600.0


class Opening:
    """Whether the source of some agents is open, and what is said while it is not."""

    def __init__(
        self,
        agents: Sequence[Agent],
        source: Source,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._agents = agents
        self._source = source
        self._clock = clock
        self._waits = is_patient(source)
        self._up_at: float | None = None
        self._wanted_at: float | None = None
        self._full_at: float | None = None  # since when a round waits for the receipt of another
        self._tell_at = clock() + TELL_SECONDS
        self.begun = False  # was it open once?

    def connected(self, now: float) -> None:
        """The broker will tell the tasks now."""
        self._up_at = now

    @property
    def wanted(self) -> bool:
        """Whether somebody would learn or serve the next record."""
        return any(agent.wants_records or agent.serving for agent in self._agents)

    def is_open(self) -> bool:
        """Whether records may pass now."""
        if self.begun and not self._waits:
            return True
        open_now = (self.wanted or self._is_vain()) and self.held_until() is None
        if open_now and not self.begun:
            self._begin()
        return open_now

    def _is_vain(self) -> bool:
        """Whether nobody will ever want what comes through a pipe: then let its writer end."""
        pipe = self._waits and not self._source.replayable
        return pipe and all(agent.reason for agent in self._agents)

    def _unheard(self) -> list[str]:
        """The tasks that may still come."""
        return [
            agent.name
            for agent in self._agents
            if agent.phase is Phase.WAITING and not agent.reason
        ]

    def held_until(self) -> float | None:
        """Until when a task or a receipt may arrive: its records should not have passed by then."""
        until = max(self._task_until(), self._receipt_until())
        return until if self._clock() < until else None

    def _task_until(self) -> float:
        if not self._unheard():
            return -math.inf
        until = self._up_until() if self._source.replayable else self._patient_until()
        return -math.inf if until is None else until

    def _receipt_until(self) -> float:
        wanted = any(agent.wants_records for agent in self._agents)
        if wanted or not self._waits or not any(agent.between_rounds for agent in self._agents):
            self._full_at = None
            return -math.inf
        if self._full_at is None:
            self._full_at = self._clock()
        return self._full_at + RECEIPT_SECONDS

    def _up_until(self) -> float | None:
        return None if self._up_at is None else self._up_at + HOLD_SECONDS

    def _patient_until(self) -> float | None:
        if not self.wanted:
            return None
        if self._wanted_at is None:
            self._wanted_at = self._clock()
        return self._wanted_at + PATIENCE_SECONDS

    def _begin(self) -> None:
        self.begun = True
        late = self._unheard()
        if late and not self._source.replayable:
            log.warning(
                "%s: not there yet; %s is read without it, and what comes until then is not "
                "learned for it",
                ", ".join(late),
                self._source.name,
            )

    # --- what is said, and when -------------------------------------------------------------------

    def tell(self) -> None:
        """Say, now and then, what is waited for."""
        now = self._clock()
        if self.begun or now < self._tell_at:
            return
        self._tell_at = now + TELL_AGAIN_SECONDS
        if awaited := self._unheard():
            log.info(
                "waiting for the task %s: %s is not read before one is accepted, so that no "
                "record is lost",
                ", ".join(awaited),
                self._source.name,
            )

    def due_times(self) -> list[float]:
        """When to look again."""
        times = [] if self.begun else [self._tell_at]
        if (until := self.held_until()) is not None:
            times.append(until)
        return times
