"""The loop that joins source, agents, broker and output: one thread, no waiting anywhere but in `select`."""

from __future__ import annotations

import logging
import os
import random
import select
import signal
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paho.mqtt.client import MQTTMessage

from edge_agent.agent import Agent, Phase
from edge_agent.ending import DONE, REFUSED, TOO_FEW, shortfall
from edge_agent.errors import StorageError
from edge_agent.labels.queue import Labelling
from edge_agent.labels.timeline import NO_LABEL
from edge_agent.mqtt.connection import Connection
from edge_agent.output import Output
from edge_agent.records import Record
from edge_agent.sources.base import Source
from edge_agent.state.state import State
from fsir.net.backoff import Delays
from fsir.net.broker import Broker
from fsir.wire.messages import topic

if TYPE_CHECKING:
    from edge_agent.recognition.tasks import Recognition  # which needs River

log = logging.getLogger("fsir.run")
BATCH = 16  # records between two looks at the broker
HOLD = 2.0  # seconds for which a file waits until every task is known
LONGEST_WAIT = 60.0
ASK_AGAIN = Delays(first=15.0, longest=3600.0)  # for what the broker should have and has not sent
DISK_SHARE = 0.02  # of the time may go into saving: a card of a small device wears out


@dataclass(frozen=True)
class Manner:
    """How long to run, and how often to save."""

    once: bool = False  # leave when every task has its receipt
    checkpoint_seconds: float = 5.0


class Runner:
    """Runs the agents of one device until the source ends or someone says stop."""

    def __init__(
        self, agents: list[Agent], state: State, broker: Broker, source: Source, output: Output, manner: Manner,
        labelling: Labelling | None = None, recognition: Recognition | None = None,
    ) -> None:  # fmt: skip
        self._agents, self._source, self._output, self._manner = agents, source, output, manner
        self._labelling = Labelling() if labelling is None else labelling
        self._recognition = recognition
        self._topics = {topic: agent for agent in agents for topic in agent.subscriptions()}
        self._connection = Connection(
            broker, f"fsir-agent-{state.device}", list(self._topics), self._receive,
            on_up=self._up, on_down=self._down, will=self._last_will,
        )  # fmt: skip
        self._waiting: deque[Record] = deque()
        self._up_at: float | None = None
        self._save_at = time.monotonic() + manner.checkpoint_seconds
        self._asked, self._ask_at, self._chance = 0, float("inf"), random.SystemRandom()
        self._leaving = False
        self._resume(state)
        self._wake_read, self._wake_write = os.pipe()

    def _resume(self, state: State) -> None:
        """Go on where the slowest task is; a source that cannot go back only numbers on.

        The place of every task is looked at: a file in which one of them has changed could bring records back that
        this task has counted, however far back the slowest one is.
        """
        places = [state.last_position(self._source.name)]
        if self._source.replayable:
            places = [state.position(agent.name, self._source.name) for agent in self._agents]
        for place in sorted(places, key=lambda position: position.ordinal, reverse=True):
            self._source.resume(place)

    # --- the broker -----------------------------------------------------------------------------------------------

    def _receive(self, message: MQTTMessage) -> None:
        if (agent := self._topics.get(message.topic)) is not None:
            agent.receive(message.topic, bytes(message.payload), message.retain)

    def _up(self) -> None:
        self._up_at = time.monotonic()
        self._asked, self._ask_at = 0, self._up_at + ASK_AGAIN.after(0, self._chance)
        for agent in self._agents:
            agent.connected(self._up_at)

    def _down(self) -> None:
        for agent in self._agents:
            agent.disconnected()

    def _last_will(self) -> tuple[str, bytes] | None:
        found = [
            message for agent in self._agents if (message := agent.presence(False)) is not None
        ]
        return (found[0].topic, found[0].payload) if found else None

    # --- the loop -------------------------------------------------------------------------------------------------

    def run(self) -> int:
        """Run until done; returns the exit code."""
        handlers = {
            which: signal.signal(which, self._stop) for which in (signal.SIGTERM, signal.SIGINT)
        }
        os.set_blocking(self._wake_write, False)
        previous = signal.set_wakeup_fd(self._wake_write)  # so that a signal ends `select` at once
        try:
            self._step()
            while not self._leaving and not self._finished():
                self._wait()
                self._step()
            return self._result()
        finally:
            self._leave()
            signal.set_wakeup_fd(previous)
            for which, handler in handlers.items():
                signal.signal(which, handler)

    def _stop(self, number: int, _frame: Any) -> None:
        log.info("%s: saving and leaving", signal.Signals(number).name)
        self._leaving = True

    def _step(self) -> None:
        self._connection.step(time.monotonic())
        self._labelling.step(time.monotonic())
        self._feed()
        now = time.monotonic()
        for agent in self._agents:
            for message in agent.outgoing(now):
                self._connection.publish(message.topic, message.payload, message.retain)
        if now >= self._save_at:
            self._checkpoint()
        if now >= self._ask_at and self._connection.up:
            self._ask_again(now)

    def _ask_again(self, now: float) -> None:
        """A broker may have lost what a device waits for: subscribing again brings retained messages back."""
        self._asked += 1
        self._ask_at = now + ASK_AGAIN.after(self._asked, self._chance)
        if topics := [about for agent in self._agents if (about := awaited(agent)) is not None]:
            self._connection.subscribe(topics)
        for agent in self._agents:
            if self._asked == 1 and agent.phase is Phase.WAITING and not agent.reason:
                log.warning(
                    "%s: there is no such task on the broker yet; is the name right?", agent.name
                )

    def _feed(self) -> None:
        if not self._waiting:
            self._waiting.extend(self._source.poll(BATCH))
        for _ in range(len(self._waiting)):
            if not self._open() or (self._source.replayable and self._labelling.full):
                break
            record = self._waiting.popleft()
            for agent in self._agents:
                served = (
                    agent.serve(record)
                    if self._recognition is None
                    else self._recognition.serve(agent, record)
                )
                if served is not None:
                    self._output.write(served)
            self._labelling.add(record, self._labelled(record))
            self._learn()
        self._learn()
        self._output.flush()

    def _learn(self) -> None:
        """Learn the records whose labels are decided."""
        while self._open() and (record := self._labelling.decided()) is not None:
            for agent in self._agents:
                none_yet = not agent.n
                if agent.learn(record) and none_yet and agent.n:
                    log.info("%s: first record learned", agent.name)
            if self._recognition is not None:
                self._recognition.learn(record)

    def _labelled(self, record: Record) -> bool:
        """Whether a record brings its own label."""
        columns = [agent.task.response.name for agent in self._agents if agent.task is not None]
        return record.y is not None or any(
            record.x.get(column) not in (None, NO_LABEL) for column in columns
        )

    def _open(self) -> bool:
        """Whether records may pass: a file can wait until there is a use for them."""
        return not self._source.replayable or (self._wanted() and not self._held())

    def _wanted(self) -> bool:
        return any(agent.wants_records or agent.serving for agent in self._agents)

    def _held(self) -> bool:
        """Whether a task may arrive any moment: its first records should not have passed by then."""
        unheard = any(agent.phase is Phase.WAITING and not agent.reason for agent in self._agents)
        return unheard and self._up_at is not None and time.monotonic() < self._up_at + HOLD

    def _checkpoint(self, leaving: bool = False) -> None:
        begun = time.monotonic()
        try:
            for agent in self._agents:
                agent.checkpoint(leaving)
            if self._recognition is not None:
                self._recognition.checkpoint(leaving)
        except StorageError as error:
            log.error("%s", error)
        now = time.monotonic()
        self._save_at = now + max(self._manner.checkpoint_seconds, (now - begun) / DISK_SHARE)

    def _wait(self) -> None:
        now = time.monotonic()
        moments = [now + LONGEST_WAIT, self._connection.next_due(now)]
        if self._open():
            moments.append(self._labelling.due(now))
        if any(agent.wants_records for agent in self._agents) or (
            self._recognition and self._recognition.dirty
        ):
            moments.append(self._save_at)
        if any(awaited(agent) is not None for agent in self._agents):
            moments.append(self._ask_at)
        moments += [due for agent in self._agents if (due := agent.next_due(now)) is not None]
        readers = [self._wake_read, *self._labelling.readers()]
        if not self._waiting and not self._source.ended:
            moments.append(now + self._source.delay())
            if (descriptor := self._source.fileno()) is not None:
                readers.append(descriptor)
        elif (
            self._waiting
            and self._open()
            and not (self._source.replayable and self._labelling.full)
        ):
            return
        if self._held() and self._up_at is not None:
            moments.append(self._up_at + HOLD)
        if (descriptor := self._connection.fileno()) is not None:
            readers.append(descriptor)
        writers = [descriptor] if descriptor is not None and self._connection.wants_write() else []
        ready, _, _ = select.select(readers, writers, [], max(0.0, min(moments) - now))
        if self._wake_read in ready:
            os.read(self._wake_read, 64)

    # --- the end --------------------------------------------------------------------------------------------------

    def _finished(self) -> bool:
        """Whether nothing more can happen."""
        settled = all(agent.phase is Phase.SERVING or agent.reason for agent in self._agents)
        if self._manner.once and settled:
            return True
        return self._ended() and (settled or self._too_few())

    def _result(self) -> int:
        """The exit code, of which scripts should not have to read the log."""
        if self._leaving:
            return DONE
        if self._too_few():
            return TOO_FEW
        return REFUSED if any(agent.reason for agent in self._agents) else DONE

    def _ended(self) -> bool:
        return self._source.ended and not self._waiting and not len(self._labelling)

    def _too_few(self) -> bool:
        """Whether the source has ended before some task had its records, and no deadline will come."""
        if not self._ended() or any(agent.pending for agent in self._agents):
            return False
        learning = [agent for agent in self._agents if agent.phase is Phase.LEARNING]
        if not learning or any(agent.phase is Phase.SCREENED for agent in self._agents):
            return False
        return all(agent.wants_records and agent.task is not None and agent.task.report.deadline is None
                   for agent in learning)  # fmt: skip

    def _leave(self) -> None:
        too_few = self._too_few() and not self._leaving
        for agent in self._agents:
            if too_few and agent.phase is Phase.LEARNING:
                log.warning("%s: %s", agent.name, shortfall(agent, self._source.replayable))
            elif agent.phase is Phase.LEARNING:
                log.info("%s: %d records learned so far", agent.name, agent.n)
        self._checkpoint(leaving=True)
        for agent in self._agents:
            if self._connection.up and (message := agent.presence(False)) is not None:
                self._connection.publish(message.topic, message.payload, message.retain)
        self._labelling.close()
        self._connection.close()
        os.close(self._wake_read)
        os.close(self._wake_write)


def awaited(agent: Agent) -> str | None:
    """The topic of the message that a device cannot go on without, if there is one."""
    if agent.reason:
        return None
    kinds = {
        Phase.WAITING: "task",
        Phase.SCREENED: "active",
        Phase.SERVING: None if agent.serving else "subspace",
    }
    kind = kinds.get(agent.phase)
    return None if kind is None else topic(agent.name, kind)
