"""Records on their way: from the source, served at once, and learned when their label is known."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from edge_agent.agent import Agent, Phase
from edge_agent.labels.queue import Labelling
from edge_agent.labels.timeline import NO_LABEL
from edge_agent.output import Output
from edge_agent.records import Record
from edge_agent.sources.base import Source
from edge_agent.state.state import State

if TYPE_CHECKING:
    from edge_agent.recognition.tasks import Recognition  # which needs River

log = logging.getLogger("fsir.run")
BATCH_RECORDS = 16  # between two looks at the broker
HOLD_SECONDS = 2.0  # for which a file waits until every task is known


class Feeding:
    """The way of the records of one source to the agents of one device."""

    def __init__(
        self,
        agents: Sequence[Agent],
        source: Source,
        output: Output,
        labelling: Labelling,
        recognition: Recognition | None,
    ) -> None:
        self._agents = agents
        self._source = source
        self._output = output
        self._labelling = labelling
        self._recognition = recognition
        self._waiting: deque[Record] = deque()
        self._up_at: float | None = None

    def resume(self, state: State) -> None:
        """Go on where the slowest task is; a source that cannot go back only numbers on.

        The place of everyone who ever read it is looked at: a file in which one of them has changed
        could bring records back that this one has counted, under other numbers, however far back
        the slowest task is, and whether or not it takes part now.
        """
        name = self._source.name
        if not self._source.replayable:
            self._source.resume(state.last_position(name))
            return
        for place in state.positions(name):
            self._source.resume(place)
        places = [state.position(agent.name, name) for agent in self._agents]
        self._source.resume(min(places, key=lambda position: position.ordinal))

    def connected(self, now: float) -> None:
        """The broker will tell the tasks now."""
        self._up_at = now

    @property
    def ended(self) -> bool:
        """Whether no more records will come."""
        return self._source.ended and not self._waiting and not len(self._labelling)

    def step(self) -> None:
        """Serve and learn what is there."""
        if not self._waiting:
            self._waiting.extend(self._source.poll(BATCH_RECORDS))
        for _ in range(len(self._waiting)):
            if not self._may_pass():
                break
            record = self._waiting.popleft()
            self._serve(record)
            self._labelling.add(record, self._brings_label(record))
            self._learn()
        self._learn()
        self._output.flush()

    def _may_pass(self) -> bool:
        return self._open() and not (self._source.replayable and self._labelling.full)

    def _serve(self, record: Record) -> None:
        for agent in self._agents:
            served = self._served(agent, record)
            if served is not None:
                self._output.write(served)

    def _served(self, agent: Agent, record: Record) -> dict[str, Any] | None:
        if self._recognition is None:
            return agent.serve(record)
        return self._recognition.serve(agent, record)

    def _learn(self) -> None:
        """Learn the records whose labels are known."""
        while self._open() and (record := self._labelling.decided()) is not None:
            for agent in self._agents:
                none_yet = not agent.learned
                if agent.learn(record) and none_yet and agent.learned:
                    log.info("%s: first record learned", agent.name)
            if self._recognition is not None:
                self._recognition.learn(record)

    def _brings_label(self, record: Record) -> bool:
        columns = [agent.task.response.name for agent in self._agents if agent.task is not None]
        return record.y is not None or any(
            record.x.get(column) not in (None, NO_LABEL) for column in columns
        )

    def _open(self) -> bool:
        """Whether records may pass: a file can wait until there is a use for them."""
        return not self._source.replayable or (self._wanted() and self._held_until() is None)

    def _wanted(self) -> bool:
        return any(agent.wants_records or agent.serving for agent in self._agents)

    def _held_until(self) -> float | None:
        """Until when a task may arrive: its first records should not have passed by then."""
        unheard = any(agent.phase is Phase.WAITING and not agent.reason for agent in self._agents)
        if not unheard or self._up_at is None:
            return None
        until = self._up_at + HOLD_SECONDS
        return until if time.monotonic() < until else None

    # --- for whoever waits ------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Whether there is something to do right now."""
        return bool(self._waiting) and self._may_pass()

    def due_times(self, now: float) -> list[float]:
        """When to come back."""
        times = []
        if self._open():
            times.append(self._labelling.due(now))
        if self._polls():
            times.append(now + self._source.delay())
        if (until := self._held_until()) is not None:
            times.append(until)
        return times

    def readers(self) -> list[int]:
        """What to wait on for records and labels."""
        descriptor = self._source.fileno() if self._polls() else None
        return self._labelling.readers() + ([] if descriptor is None else [descriptor])

    def _polls(self) -> bool:
        return not self._waiting and not self._source.ended
