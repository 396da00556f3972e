"""A device without a network: the product's agent over its state file, and an inbox."""

from __future__ import annotations

import os
from pathlib import Path

from edge_agent.agent import Agent
from edge_agent.consent.admission import Feed
from edge_agent.state.state import State
from fsir.net.backoff import Delays
from fsir.wire.decode import decode
from fsir.wire.messages import Report
from tests.system.harness.one_hot import POLICY, Federation

EPOCH_SECONDS = 1.7e9  # what the clocks say at the start


class Device:
    """An agent that can die at any time; here is what it has sent, the rest is on its disk."""

    def __init__(self, number: int, federation: Federation, folder: Path) -> None:
        self.number = number
        self.name = federation.names()[number]
        self._federation = federation
        self.folder = folder / self.name
        self.offset = 0.0  # of its clock
        self.now = 0.0
        self.sent: dict[str, set[bytes]] = {}
        self.boot()

    def boot(self) -> None:
        """Start from the disk, with no connection yet."""
        self.state = State(self.folder, self.name)
        self.agent = Agent(
            self.state,
            "one-hot",
            POLICY,
            feed=Feed("sensor", True),
            delays=Delays(1.0, 8.0),
            clock=lambda: EPOCH_SECONDS + self.now + self.offset,
            quiet_seconds=0.0,
        )
        self.inbox: list[tuple[str, bytes]] = []
        self.connected = False

    def crash(self) -> None:
        """No good-bye, no last checkpoint: a transaction stays uncommitted, the lock is let go."""
        files = self.state._db
        lock = files._lock
        files._lock = None
        files._db.close()
        if lock is not None:
            os.close(lock)
        self.boot()

    def learn(self, count: int) -> None:
        """Read so many records, if there are any and the agent wants them."""
        for _ in range(count):
            ordinal = self.agent.position.ordinal + 1
            if self.agent.wants_records and ordinal < self._federation.stock:
                self.agent.learn(self._federation.record(self.number, ordinal))

    def outgoing(self, now: float) -> list[tuple[str, bytes]]:
        """What it sends now: topics and payloads."""
        self.now = now
        messages = self.agent.outgoing(now)
        for message in messages:
            if message.is_report:
                stage = decode(message.payload, Report).stage
                self.sent.setdefault(stage, set()).add(message.payload)
        return [(message.topic, message.payload) for message in messages]
