"""One thread that waits nowhere but in `select`."""

from __future__ import annotations

import logging
import os
import select
import signal
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from paho.mqtt.client import MQTTMessage

from edge_agent.agent import Agent, Phase
from edge_agent.errors import StorageError
from edge_agent.labels.queue import Labelling
from edge_agent.loop.asking import Asking
from edge_agent.loop.ending import DONE, TOO_FEW, all_answered, result, shortfall, too_few
from edge_agent.loop.feeding import Feeding
from edge_agent.loop.staying import Staying
from edge_agent.mqtt.connection import Connection
from edge_agent.output import Output
from edge_agent.sources.base import Source
from edge_agent.state.state import State
from fsir.net.broker import Broker

if TYPE_CHECKING:
    from edge_agent.recognition.tasks import Recognition  # which needs River

log = logging.getLogger("fsir.run")
LONGEST_WAIT_SECONDS = 60.0
DISK_SHARE = 0.02  # of the time may go into saving: a card of a small device wears out


class Manner(NamedTuple):
    """How long to run, and how often to save."""

    once: bool = False  # leave when every task has its receipt
    stays: bool = True  # on the broker, when every task has its receipt
    checkpoint_seconds: float = 5.0


class Runner:
    """Runs the agents of one device until the source ends or someone says stop."""

    def __init__(
        self,
        agents: Sequence[Agent],
        state: State,
        broker: Broker,
        *,
        source: Source,
        output: Output,
        manner: Manner,
        labelling: Labelling | None = None,
        recognition: Recognition | None = None,
    ) -> None:
        self._agents = agents
        self._source = source
        self._output = output
        self._manner = manner
        self._labelling = Labelling() if labelling is None else labelling
        self._recognition = recognition
        self._feeding = Feeding(agents, source, output, self._labelling, recognition)
        self._connection = Connection(
            broker,
            f"fsir-agent-{state.device}",
            list(self._topics()),
            self._receive,
            qos=0,  # what gets lost is asked for again
            on_up=self._up,
            on_down=self._down,
            will=self._last_will,
        )
        self._save_at = time.monotonic() + manner.checkpoint_seconds
        self._asking = Asking(agents)
        self._staying = Staying(agents, stays=manner.stays)
        self._leaving = False
        self._feeding.resume(state)
        self._wake_read, self._wake_write = os.pipe()

    # --- the broker -------------------------------------------------------------------------------

    def _topics(self) -> dict[str, Agent]:
        """Whom each topic concerns: more of them once a task with two aggregators is known."""
        return {topic: agent for agent in self._agents for topic in agent.subscriptions()}

    def _receive(self, message: MQTTMessage) -> None:
        if (agent := self._topics().get(message.topic)) is not None:
            agent.receive(message.topic, bytes(message.payload))

    def _up(self) -> None:
        now = time.monotonic()
        self._feeding.connected(now)
        self._asking.connected(now)
        self._staying.connected()
        for agent in self._agents:
            agent.connected(now)

    def _down(self) -> None:
        for agent in self._agents:
            agent.disconnected()

    def _last_will(self) -> tuple[str, bytes] | None:
        for agent in self._agents:
            if (message := agent.presence(False)) is not None:
                return message.topic, message.payload
        return None

    # --- the loop ---------------------------------------------------------------------------------

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

    @property
    def _displaced(self) -> bool:
        """Whether another copy of this device goes on: as one device, whatever its tasks."""
        return any(agent.displaced for agent in self._agents)

    def _step(self) -> None:
        if self._displaced:
            self._connection.close()  # and left to the other copy, which has the same name
        else:
            self._connection.step(time.monotonic())
            self._connection.listen(list(self._topics()))
        self._labelling.step(time.monotonic())
        self._output.welcome()
        self._feeding.step()
        now = time.monotonic()
        self._output.step(now)
        for agent in self._agents:
            for message in agent.outgoing(now):
                self._connection.publish(message.topic, message.payload, message.retain)
        if now >= self._save_at:
            self._checkpoint()
        if now >= self._asking.due and self._connection.up:
            self._asking.ask(now, self._connection.subscribe)
        self._rest(now)

    def _rest(self, now: float) -> None:
        """Leave the broker for a while, if nothing is to be said or heard for long."""
        if not self._connection.up:
            return
        if (seconds := self._staying.leaves_for(now)) is not None:
            self._say_gone()
            self._connection.rest(now + seconds)

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
        next_due = min(self._due_times(now))
        if self._feeding.busy:
            return
        readers = [self._wake_read, *self._feeding.readers(), *self._output.readers()]
        writers = self._output.writers()
        if (descriptor := self._connection.fileno()) is not None:
            readers.append(descriptor)
            if self._connection.wants_write():
                writers.append(descriptor)
        ready, _, _ = select.select(readers, writers, [], max(0.0, next_due - now))
        if self._wake_read in ready:
            os.read(self._wake_read, 64)

    def _due_times(self, now: float) -> list[float]:
        times = [now + LONGEST_WAIT_SECONDS, self._output.due(now)]
        if not self._displaced:
            times.append(self._connection.next_due(now))
        times += self._feeding.due_times(now)
        times += [due for agent in self._agents if (due := agent.next_due(now)) is not None]
        if any(agent.wants_records for agent in self._agents) or (
            self._recognition and self._recognition.dirty
        ):
            times.append(self._save_at)
        if self._connection.up:
            times.append(self._staying.due)
            if self._asking.topics():
                times.append(self._asking.due)
        return times

    # --- the end ----------------------------------------------------------------------------------

    def _finished(self) -> bool:
        """Whether nothing more can happen."""
        answered = all_answered(self._agents) or self._displaced
        if self._manner.once and answered:
            return True
        return self._feeding.ended and (answered or self._too_few())

    def _result(self) -> int:
        """The exit code, of which scripts should not have to read the log."""
        if self._leaving:
            return DONE
        if self._too_few():
            return TOO_FEW
        return result(self._agents)

    def _too_few(self) -> bool:
        """Whether the source has ended before some task had its records."""
        return self._feeding.ended and too_few(self._agents)

    def _leave(self) -> None:
        lacking = self._too_few() and not self._leaving
        for agent in self._agents:
            if agent.phase is Phase.LEARNING:
                self._tell_progress(agent, lacking)
        self._checkpoint(leaving=True)
        self._say_gone()
        self._labelling.close()
        self._connection.close()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def _say_gone(self) -> None:
        for agent in self._agents:
            if self._connection.up and (message := agent.presence(False)) is not None:
                self._connection.publish(message.topic, message.payload, message.retain)

    def _tell_progress(self, agent: Agent, lacking: bool) -> None:
        if lacking and agent.task is not None:
            what = shortfall(agent, agent.task, self._source.replayable)
            log.warning("%s: %s", agent.name, what)
        else:
            log.info("%s: %d records learned so far", agent.name, agent.n)
