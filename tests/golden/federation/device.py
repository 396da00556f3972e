"""A device of the golden federation: agents with seeded noise and delays, on its readings."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from edge_agent.agent import Agent, Feed
from edge_agent.consent.policy import Policy
from edge_agent.records import Position, Record
from edge_agent.sources.base import Options
from edge_agent.sources.csv_file import CsvFile
from edge_agent.state.state import State
from fsir.privacy.noise import SeededNoise
from fsir.task.task import Task
from tests.golden.federation.readings import SEED
from tests.golden.federation.tasks import CLOCK
from tests.golden.files import READINGS, Message

OWNER = Policy(
    version_1=True,
    epsilon=1000.0,
    unproven=("iid", "vgm", "none"),
    never_share=("heart*",),
    exact_count=True,
    presence=True,
    hold=False,  # as in version 0.1
)
PATIENCE = 60.0  # seconds, longer than any task holds a report back


class Clock:
    """A time of day that stands still until somebody moves it."""

    def __init__(self) -> None:
        self.now = float(CLOCK)

    def __call__(self) -> float:
        return self.now


def feed_of(device: str) -> Feed:
    """The source as the state file names it: without the folder, which differs between machines."""
    return Feed(f"csv:{device}.csv")


def agent_of(state: State, task: str, clock: Clock) -> Agent:
    """An agent that draws the same noise and the same delays whenever it is started."""
    return Agent(
        state,
        task,
        OWNER,
        feed=feed_of(state.device),
        noise=SeededNoise(SEED, state.device, task),
        simulated=True,
        clock=clock,
        rng=random.Random(f"{SEED} {state.device} {task}"),
        quiet_seconds=0.0,
    )


def readings_of(device: str, after: Position) -> list[Record]:
    """The records behind a position in the readings of a device."""
    records = []
    with silence(), closing(CsvFile(str(READINGS / f"{device}.csv"), Options())) as source:
        source.resume(after)
        while not source.ended:
            records += source.poll(16)
    return records


@contextmanager
def silence() -> Iterator[None]:
    """Trouble is part of the play: nobody needs to read about it."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


class Device:
    """A device in some tasks: it hears messages, reads on in its table, and says what is due."""

    def __init__(self, state: State, tasks: Sequence[str], clock: Clock) -> None:
        self.state = state
        self.name = state.device
        self.agents: list[Agent] = []
        self.manners: set[tuple[str, bool]] = set()  # of what it has published: kind, retained
        self._clock = clock
        self._now = 0.0
        for task in tasks:
            self.join(task)

    def join(self, task: str) -> None:
        """Take part in one more task."""
        agent = agent_of(self.state, task, self._clock)
        agent.connected(self._now)
        self.agents.append(agent)

    def hear(self, messages: Sequence[Message]) -> None:
        """Take what is meant for it."""
        for message in messages:
            for agent in self.agents:
                agent.receive(message.topic, message.payload)

    def learn(self, records: Sequence[Record]) -> None:
        """Offer records to every task, and save."""
        for record in records:
            for agent in self.agents:
                agent.learn(record)
        for agent in self.agents:
            agent.checkpoint()

    def rest(self, stop: int | None = None) -> list[Record]:
        """The records that some task has not seen, those from number `stop` on left out."""
        places = [agent.position for agent in self.agents]
        records = readings_of(self.name, min(places, key=lambda place: place.ordinal))
        return [record for record in records if stop is None or record.position.ordinal < stop]

    def say(self) -> list[Message]:
        """What leaves now, and what was held back for a while; repetitions are left out."""
        said: dict[Message, None] = {}
        for _ in range(2):
            self._now += PATIENCE
            for agent in self.agents:
                for found in agent.outgoing(self._now):
                    message = Message(found.topic, found.payload)
                    self.manners.add((message.kind, found.retain))
                    said[message] = None
        return list(said)


def memory(name: str, tasks: Sequence[Task], clock: Clock) -> Device:
    """A device whose state is in memory."""
    return Device(State(None, name, simulated=True), [task.name for task in tasks], clock)


def on_disk(directory: Path, name: str, tasks: Sequence[str], clock: Clock) -> Device:
    """A device whose state is in a directory."""
    return Device(State(directory, name, simulated=True), tasks, clock)
