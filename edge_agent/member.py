"""A device's part in a federation, for a program that has its own loop.

Call `learn` and `step`, and in the end `close`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from edge_agent.agent import Agent, Feed
from edge_agent.consent.policy import Policy
from edge_agent.errors import StateError
from edge_agent.mqtt.connection import Connection
from edge_agent.records import Position, Record
from edge_agent.state.state import State
from fsir.net.broker import Broker

SAVE_SECONDS = 5.0


def _feed(stream: str | None) -> Feed:
    """The records of a program; what it passes as `y` is their label."""
    if stream is not None:
        return Feed(f"program:{stream}", replayable=False, label="y")
    run = os.urandom(4).hex()
    return Feed("program", replayable=False, stream=f"program#{run}", label="y")


class Member:
    """One device in one task, over a connection of its own.

    Records must be raw: see `fsir.task.task.Features`.

    stream: a name for records that the program numbers itself, the same number for the same record
    in every run. Without one nobody knows whether a run brings what an earlier one brought: what
    was learned and not reported is dropped when the next one begins.
    """

    def __init__(
        self,
        broker: str | Broker,
        task: str,
        device: str,
        state: str | Path,
        policy: Policy | None = None,
        *,
        stream: str | None = None,
    ) -> None:
        address = broker if isinstance(broker, Broker) else Broker.parse(broker)
        self._state = State(state, device)
        feed = _feed(stream)
        self.agent = Agent(self._state, task, policy, feed=feed)
        self._numbered = stream is not None
        self._ordinal = self._state.last_position(feed.name).ordinal
        self._connection = Connection(
            address,
            f"fsir-agent-{device}",
            self.agent.subscriptions(),
            lambda message: self.agent.receive(message.topic, bytes(message.payload)),
            on_up=lambda: self.agent.connected(time.monotonic()),
            on_down=self.agent.disconnected,
        )
        self._saved_at = time.monotonic()

    def learn(self, x: Mapping[str, Any], y: Any, number: int | None = None) -> None:
        """Offer one record. Each record of the device belongs here once, ever.

        `number` is its place in the `stream`, rising; one that was seen before is passed by.
        """
        if self._numbered != (number is not None):
            raise StateError(
                "a member with a stream needs the number of each record, and one without takes none"
            )
        self._ordinal = self._ordinal + 1 if number is None else number
        self.agent.learn(Record(Position(self._ordinal), x, y))
        self.step()

    def step(self) -> None:
        """Handle what has arrived, send what is due, save now and then; never waits."""
        now = time.monotonic()
        if self.agent.displaced:
            self._connection.close()  # and left to the other copy, which has the same name
        else:
            self._connection.step(now)
        for message in self.agent.outgoing(now):
            self._connection.publish(message.topic, message.payload, message.retain)
        if now - self._saved_at >= SAVE_SECONDS:
            self._saved_at = now
            self.agent.checkpoint()

    def close(self) -> None:
        """Save and leave."""
        self.agent.checkpoint()
        self._connection.close()
        self._state.close()

    def __enter__(self) -> Member:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __deepcopy__(self, memo: dict[int, Any]) -> Member:
        raise StateError(
            "a device takes part once: a copy of its member would spend its budget twice"
        )
