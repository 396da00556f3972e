"""A device of the harness: the product's agent and connection over a state on the disk, which can crash anywhere."""

from __future__ import annotations

import contextlib
import gc
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from paho.mqtt.client import MQTTMessage

from edge_agent.admission import Feed
from edge_agent.agent import Agent, Phase
from edge_agent.connection import Broker, Connection
from edge_agent.errors import StorageError
from edge_agent.retry import Delays
from edge_agent.state import State
from fsir.decode import decode
from fsir.messages import Report
from tests.system import points
from tests.system.one_hot import POLICY, Federation

SHORT = Delays(0.05, 0.3)


class Device:
    """One device; what the harness knows about it survives its crashes, the device itself has only its disk."""

    def __init__(self, number: int, federation: Federation, url: str, directory: Path, *, replayable: bool) -> None:
        self.number, self.name = number, federation.names()[number]
        self._federation, self._url, self._directory = federation, url, directory / self.name
        self._replayable = replayable
        self.sent: dict[str, set[bytes]] = {}  # distinct payloads, by stage
        self.offset = 0.0  # of its clock
        self.crashes = 0
        self.appetite = 0  # records that it may still read from its source
        self.settle = 0.03  # seconds between its subscription and its first report
        self.habit = 0  # it saves after so many records by itself, if above 0
        self._read = -1  # the last record that its sensor has given
        self._up = False
        self.agent: Agent | None = None
        self.start()

    # --- life and death -------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Boot from the disk."""
        if self.agent is not None:
            return
        state = State(self._directory, self.name)
        feed = Feed("sensor", self._replayable)
        agent = Agent(
            state,
            "one-hot",
            POLICY,
            feed=feed,
            clock=lambda: time.time() + self.offset,
            delays=SHORT,
            settle=self.settle,
        )
        self._connection = Connection(
            Broker.parse(self._url), f"agent-{self.name}", agent.subscriptions(), self._receive,
            on_up=lambda: agent.connected(time.monotonic()), on_down=agent.disconnected, delays=SHORT,
        )  # fmt: skip
        self.agent, self._state = agent, state
        if not self._replayable:  # a sensor cannot be asked again: it numbers on behind whatever was saved
            self._read = max(self._read, state.last_position("sensor").ordinal)

    def crash(self) -> None:
        """Gone in an instant: no good-bye, no last checkpoint; what is on the disk stays."""
        if self.agent is None:
            return
        self.crashes += 1
        client = self._connection._client
        with contextlib.suppress(OSError, AttributeError):
            client.socket().close()  # type: ignore[union-attr]
        lock, self._state._db._lock = self._state._db._lock, None
        database = self._state._db._db
        self.agent = None
        del self._connection, self._state, client
        database.close()  # the system closes the files of a dead process; an open transaction is not committed
        if lock is not None:
            os.close(lock)
        gc.collect(0)

    def arm(self, point: str, times: int) -> None:
        """Crash when this point is reached for the k-th time in this life."""
        if self.agent is not None:
            points.arm_objects(point, times, self._state, self._connection)

    # --- living ---------------------------------------------------------------------------------------------------

    @property
    def settled(self) -> bool:
        """Whether all its reports have their receipt."""
        return self.agent is not None and self.agent.phase is Phase.SERVING

    def step(self, now: float) -> None:
        """A little of everything; the device may die of it."""
        if self.agent is None:
            return
        try:
            self._connection.step(now)
            self._learn()
            for message in self.agent.outgoing(now):
                if self._connection.up:  # what is handed to a dead connection never leaves
                    self._note(message.payload)
                self._connection.publish(message.topic, message.payload, message.retain)
        except points.CrashError:
            self.crash()

    def _receive(self, message: MQTTMessage) -> None:
        if self.agent is not None:
            self.agent.receive(message.topic, bytes(message.payload), message.retain)

    def _note(self, payload: bytes) -> None:
        report = decode(payload, "report")
        assert isinstance(report, Report)
        self.sent.setdefault(report.stage, set()).add(payload)

    def _learn(self) -> None:
        agent = self.agent
        assert agent is not None
        while self.appetite > 0 and agent.wants_records:
            last = agent.position.ordinal if self._replayable else self._read
            if last + 1 >= self._federation.stock:
                return
            self._read = last + 1
            self.appetite -= 1
            agent.learn(self._federation.record(self.number, self._read))
            if self.habit and (self._read + 1) % self.habit == 0:
                with contextlib.suppress(StorageError):
                    agent.checkpoint()

    def checkpoint(self) -> None:
        """Save; a full disk is no reason to die."""
        if self.agent is not None:
            try:
                with contextlib.suppress(StorageError):
                    self.agent.checkpoint()
            except points.CrashError:
                self.crash()

    def on_acknowledged(self, tell: Callable[[], Any]) -> None:
        """Tell when the broker has acknowledged something of this device, in this life."""
        self._connection._published = points.around(self._connection._published, "after", tell)  # type: ignore
        if self._connection._client is not None:
            self._connection._client.on_publish = self._connection._published

    def fill_disk(self, full: bool) -> None:
        """No page more than the state has now; or as many as it likes."""
        if self.agent is not None:
            pages = 1 if full else 2**30
            self._state._db._db.execute(f"PRAGMA max_page_count = {pages}").fetchall()
