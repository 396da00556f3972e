"""Records on their way: from the source, served at once, and learned when their label is known."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from edge_agent.agent import Agent
from edge_agent.labels.queue import Labelling
from edge_agent.labels.timeline import NO_LABEL
from edge_agent.loop.opening import Opening
from edge_agent.loop.patience import Patience
from edge_agent.output import Output
from edge_agent.records import Record
from edge_agent.sources.base import Source, is_patient
from edge_agent.sources.tally import Tally
from edge_agent.state.state import State

if TYPE_CHECKING:
    from edge_agent.recognition.tasks import Recognition  # which needs River

log = logging.getLogger("fsir.run")
BATCH_RECORDS = 64  # between two looks at the broker
_PASSED_BY = "records passed by: no task wanted one just then"


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
        self._opening = Opening(agents, source)
        self._patience = Patience(agents, source)
        self._tally = Tally(source.name)
        self._state: State | None = None  # of a source that is not open yet

    def resume(self, state: State) -> None:
        """Go on where the slowest task is; a source that cannot go back only numbers on, later.

        The place of everyone who ever read it is looked at: a file in which one of them has changed
        could bring records back that this one has counted, under other numbers, however far back
        the slowest task is, and whether or not it takes part now.
        """
        name = self._source.name
        if not self._source.replayable:
            self._state = state
            return
        for place in state.positions(name):
            self._source.resume(place)
        places = [state.position(agent.name, name) for agent in self._agents]
        self._source.resume(min(places, key=lambda position: position.ordinal))

    def connected(self, now: float) -> None:
        """The broker will tell the tasks now."""
        self._opening.connected(now)

    @property
    def ended(self) -> bool:
        """Whether no more records will come."""
        return self._source.ended and not self._waiting and not len(self._labelling)

    def step(self) -> None:
        """Serve and learn what is there."""
        self._opening.tell()
        if not self._waiting and self._is_read():
            self._waiting.extend(self._source.poll(BATCH_RECORDS))
        self._patience.step(came=bool(self._waiting))
        left = len(self._waiting)
        while left and self._may_pass():
            together = min(left, self._together())
            self._pass(together)
            self._learn()
            left -= together
        self._learn()
        self._output.flush()

    def _together(self) -> int:
        """How many records may pass before it matters to any of them what becomes of another."""
        return 1 if len(self._labelling) else self._alike()

    def _pass(self, count: int) -> None:
        columns = self._label_columns()
        for _ in range(count):
            record = self._waiting.popleft()
            self._serve(record)
            self._labelling.add(record, _brings_label(record, columns))

    def _is_read(self) -> bool:
        """Whether to look into the source; of a file some records may wait here for their use."""
        if not self._source.replayable and not self._opening.begun:
            return self._open()
        return True

    def _open(self) -> bool:
        """Whether records may pass; what cannot be read again is opened for the first of them."""
        is_open = self._opening.is_open()
        if is_open and self._state is not None:
            self._source.resume(self._state.last_position(self._source.name))
            self._state = None
        return is_open

    def _may_pass(self) -> bool:
        return self._open() and not (is_patient(self._source) and self._labelling.full)

    def _serve(self, record: Record) -> None:
        if not self._opening.wanted:
            self._tally.add(_PASSED_BY)
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
        while self._open() and (records := self._decided(self._alike())):
            for agent in self._agents:
                self._offer(agent, records)
            if self._recognition is not None:
                for record in records:
                    self._recognition.learn(record)

    def _alike(self) -> int:
        """How many records some task learns before it has all that it wants: at least so many.

        Until then the next one is wanted like the one before.
        """
        if self._recognition is not None:
            return 1
        return min((agent.room for agent in self._agents if agent.room), default=1)

    def _decided(self, most: int) -> list[Record]:
        """Up to so many records whose labels are known."""
        return list(islice(iter(self._labelling.decided, None), most))

    def _offer(self, agent: Agent, records: Sequence[Record]) -> None:
        """Let an agent learn records: together if nothing is special about any of them."""
        before = agent.learned
        if agent.learn_sound(records):
            self._patience.looked_at(agent, learned=True)
        else:
            for record in records:
                self._offer_one(agent, record)
        if not before and agent.learned and not agent.round:
            log.info("%s: first record learned", agent.name)

    def _offer_one(self, agent: Agent, record: Record) -> None:
        before = agent.learned
        if agent.learn(record):
            self._patience.looked_at(agent, learned=agent.learned > before)

    def _label_columns(self) -> list[str]:
        return [agent.task.response.name for agent in self._agents if agent.task is not None]

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
        return times + self._opening.due_times() + self._patience.due_times()

    def readers(self) -> list[int]:
        """What to wait on for records and labels."""
        descriptor = self._source.fileno() if self._polls() else None
        return self._labelling.readers() + ([] if descriptor is None else [descriptor])

    def _polls(self) -> bool:
        return not self._waiting and not self._source.ended and self._is_read()


def _brings_label(record: Record, columns: Sequence[str]) -> bool:
    """Whether a record has its response, in one of these columns or beside its values."""
    return record.y is not None or any(
        record.x.get(column) not in (None, NO_LABEL) for column in columns
    )
