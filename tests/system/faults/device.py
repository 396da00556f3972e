"""A device that can crash anywhere: the product's agents and connection over a real disk."""

from __future__ import annotations

import contextlib
import gc
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from paho.mqtt.client import MQTTMessage

from edge_agent.agent import Agent, Phase
from edge_agent.consent.admission import Feed
from edge_agent.consent.policy import Policy
from edge_agent.errors import StorageError
from edge_agent.mqtt.connection import Connection
from edge_agent.state.state import State
from fsir.net.backoff import Delays
from fsir.net.broker import Broker
from fsir.wire.decode import decode
from fsir.wire.messages import Report
from tests.system.harness import points
from tests.system.harness.one_hot import POLICY, Federation

SHORT = Delays(0.05, 0.3)


class Device:
    """One device; what is known here survives its crashes, the device itself has only its disk.

    It may take part in several tasks, which then share its source, its state and its connection.
    """

    def __init__(
        self,
        number: int,
        federations: Sequence[Federation],
        url: str,
        directory: Path,
        *,
        replayable: bool,
        policy: Policy = POLICY,
    ) -> None:
        self.number = number
        self.name = federations[0].names()[number]
        self._federations = federations
        self._url = url
        self._directory = directory / self.name
        self._replayable = replayable
        self._policy = policy
        # Payloads, by task and stage.
        self.sent: dict[str, dict[str, set[bytes]]] = {task.name: {} for task in federations}
        self.offset = 0.0  # of its clock
        self.crashes = 0
        self.appetite = 0  # records that it may still read from its source
        self.quiet_seconds = 0.03  # between its subscription and its first report
        self.habit = 0  # it saves after so many records by itself, if above 0
        self._read = -1  # the last record that its source has given
        self.agents: dict[str, Agent] = {}  # by task; none while it is off
        self.start()

    @property
    def on(self) -> bool:
        """Whether it runs."""
        return bool(self.agents)

    @property
    def agent(self) -> Agent | None:
        """The agent of its first task."""
        return self.agents.get(self._federations[0].name)

    # --- life and death ---------------------------------------------------------------------------

    def start(self) -> None:
        """Boot from the disk."""
        if self.on:
            return
        state = State(self._directory, self.name)
        feed = Feed("sensor", self._replayable)
        self.agents = {task.name: self._boot(task, state, feed) for task in self._federations}
        self._connection = self._connect(self.agents)
        self._state = state
        if self._replayable:  # from where the slowest task is
            self._read = min(state.position(name, "sensor").ordinal for name in self.agents)
        else:  # a sensor cannot be asked again: it numbers on behind whatever was saved
            self._read = max(self._read, state.last_position("sensor").ordinal)

    def _boot(self, task: Federation, state: State, feed: Feed) -> Agent:
        return Agent(
            state,
            task.name,
            self._policy,
            feed=feed,
            clock=lambda: time.time() + self.offset,
            delays=SHORT,
            quiet_seconds=self.quiet_seconds,
        )

    def _connect(self, agents: dict[str, Agent]) -> Connection:
        topics = {topic: agent for agent in agents.values() for topic in agent.subscriptions()}

        def receive(message: MQTTMessage) -> None:
            if self.agents is agents:  # the dead hear nothing
                topics[message.topic].receive(message.topic, bytes(message.payload))

        def up() -> None:
            for agent in agents.values():
                agent.connected(time.monotonic())

        def down() -> None:
            for agent in agents.values():
                agent.disconnected()

        return Connection(
            Broker.parse(self._url),
            f"agent-{self.name}",
            list(topics),
            receive,
            on_up=up,
            on_down=down,
            delays=SHORT,
        )

    def crash(self) -> None:
        """Gone in an instant: no good-bye, no last checkpoint; what is on the disk stays."""
        if not self.on:
            return
        self.crashes += 1
        client = self._connection._client
        with contextlib.suppress(OSError, AttributeError):
            client.socket().close()  # type: ignore[union-attr]
        lock = self._state._db._lock
        self._state._db._lock = None
        database = self._state._db._db
        self.agents = {}
        del self._connection, self._state, client
        # The system closes the files of a dead process; an open transaction is not committed.
        database.close()
        if lock is not None:
            os.close(lock)
        gc.collect(0)

    def arm(self, point: str, times: int) -> None:
        """Crash when this point is reached for the k-th time in this life."""
        if self.on:
            points.arm_objects(point, times, self._state, self._connection)

    # --- living -----------------------------------------------------------------------------------

    def phase(self, task: str) -> Phase | None:
        """Where it stands in a task; None while it is off."""
        return self.agents[task].phase if self.on else None

    @property
    def settled(self) -> bool:
        """Whether all its reports have their receipt."""
        return self.on and all(agent.phase is Phase.SERVING for agent in self.agents.values())

    @property
    def informed(self) -> bool:
        """Whether it has heard of all its tasks, or knows why it takes no part."""
        return self.on and all(agent.task or agent.reason for agent in self.agents.values())

    @property
    def answered(self) -> bool:
        """Whether the aggregator has answered its asks, so that its reports may leave."""
        gates = [agent._dispatch.instance for agent in self.agents.values() if not agent.reason]
        return self.on and all(gate is not None and gate.confirmed for gate in gates)

    def step(self, now: float) -> None:
        """A little of everything; the device may die of it."""
        if not self.on:
            return
        try:
            self._connection.step(now)
            self._learn()
            for name, agent in self.agents.items():
                for message in agent.outgoing(now):
                    # What is handed to a dead connection never leaves.
                    if message.is_report and self._connection.up:
                        self._note(name, message.payload)
                    self._connection.publish(message.topic, message.payload, message.retain)
        except points.CrashError:
            self.crash()

    def _note(self, task: str, payload: bytes) -> None:
        stage = decode(payload, Report).stage
        self.sent[task].setdefault(stage, set()).add(payload)

    def _learn(self) -> None:
        while self.appetite > 0 and any(agent.wants_records for agent in self.agents.values()):
            if self._replayable and self._read + 1 >= self._federations[0].stock:
                return
            self._read += 1
            self.appetite -= 1
            record = self._federations[0].record(self.number, self._read)
            for agent in self.agents.values():
                agent.learn(record)
            if self.habit and (self._read + 1) % self.habit == 0:
                self._save()

    def _save(self) -> None:
        for agent in self.agents.values():
            with contextlib.suppress(StorageError):
                agent.checkpoint()

    def checkpoint(self) -> None:
        """Save; a full disk is no reason to die."""
        try:
            self._save()
        except points.CrashError:
            self.crash()

    def on_acknowledged(self, tell: Callable[[], Any]) -> None:
        """Tell when the broker has acknowledged something of this device, in this life."""
        told = points.around(self._connection._published, "after", tell)
        self._connection._published = told  # type: ignore[method-assign]
        if self._connection._client is not None:
            self._connection._client.on_publish = told

    def fill_disk(self, full: bool) -> None:
        """No page more than the state has now; or as many as it likes."""
        if self.on:
            pages = 1 if full else 2**30
            self._state._db._db.execute(f"PRAGMA max_page_count = {pages}").fetchall()
