"""Says aloud when nothing is learned: why, where, and what to do; once, and again every hour."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from edge_agent.agent import Agent
from edge_agent.sources.base import Source
from edge_agent.watch.refusals import NO_LABEL_YET

log = logging.getLogger("fsir.run")
IN_A_ROW = 50  # refused records
SILENT_SECONDS = 30.0  # in which records come and none is learned, or none comes at all
AGAIN_SECONDS = 3600.0

# What a source waits for, by its scheme, and what its owner can look at.
_AWAITED = {
    "csv": "new lines at the end of the file; does anybody write into it?",
    "jsonl": "new lines; does anybody write them?",
    "mqtt": "messages; does the sensor publish on this topic, on this broker?",
    "iio": "the chip; is it connected and switched on?",
    "sensorlogger": "the phone; is this address in the app, and does it record?",
    "signals": "new lines at the end of the recording; does anybody write into it?",
}


@dataclass
class _Spell:
    """Refused records of one task since the last one that was learned."""

    count: int = 0
    begun: float = 0.0
    tell_at: float = 0.0  # not before

    @property
    def due(self) -> float:
        """When it is to be said, if no more come."""
        return max(self.begun + SILENT_SECONDS, self.tell_at)


class Patience:
    """How long the agents of one device have waited for a record that they can learn from."""

    def __init__(
        self,
        agents: Sequence[Agent],
        source: Source,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._agents = agents
        self._source = source
        self._clock = clock
        self._spells = {agent.name: _Spell() for agent in agents}
        self._came = False  # has any record, in this run?
        self._silent_at: float | None = None  # when it is to be said that none does

    def looked_at(self, agent: Agent, *, learned: bool) -> None:
        """A record was offered to an agent that wanted one."""
        spell = self._spells[agent.name]
        if learned:
            spell.count = 0
            return
        if not spell.count:
            spell.begun = self._clock()
        spell.count += 1
        if spell.count >= IN_A_ROW and self._clock() >= spell.tell_at:
            self._complain(agent, spell)

    def step(self, came: bool) -> None:
        """Now and then; `came`: whether records are there."""
        now = self._clock()
        self._came = self._came or came
        for agent in self._agents:
            spell = self._spells[agent.name]
            if spell.count and now >= spell.due:
                self._complain(agent, spell)
        self._look_for_silence(now)

    def _complain(self, agent: Agent, spell: _Spell) -> None:
        now = self._clock()
        spell.tell_at = now + AGAIN_SECONDS
        why = agent.why_refused()
        if why is None:
            return
        # That nobody presses a button for an hour is as it should be.
        level = logging.INFO if why.reason == NO_LABEL_YET else logging.WARNING
        log.log(
            level,
            "%s: %d records in a row were not learned, in %.0f s; the last one, record %d of %s: "
            "%s; fsir-agent try looks at them all",
            *(agent.name, spell.count, now - spell.begun),
            *(agent.position.ordinal, self._source.name, why),
        )

    def _look_for_silence(self, now: float) -> None:
        wanted = any(agent.wants_records for agent in self._agents)
        if self._came or not wanted or self._source.ended:
            self._silent_at = None
        elif self._silent_at is None:
            self._silent_at = now + SILENT_SECONDS
        elif now >= self._silent_at:
            self._silent_at = now + AGAIN_SECONDS
            scheme = self._source.name.partition(":")[0]
            awaited = _AWAITED.get(scheme, "records; is it switched on?")
            log.warning(
                "%s: no record in %.0f s; waiting for %s",
                *(self._source.name, SILENT_SECONDS, awaited),
            )

    def due_times(self) -> list[float]:
        """When to come back although nothing happens."""
        silent = [] if self._silent_at is None else [self._silent_at]
        return silent + [spell.due for spell in self._spells.values() if spell.count]
