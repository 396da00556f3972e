"""A device's part in a federation, for a program that has its own loop.

Call `learn` and `step`, and in the end `close`. Records that come before the task is known wait for
it, in memory alone: nobody has agreed to anything yet.
"""

from __future__ import annotations

import logging
import os
import time
from collections import deque
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

log = logging.getLogger("fsir.agent")
SAVE_SECONDS = 5.0
MOST_WAITING = 2000  # records, as many as may wait for their label elsewhere


def _feed(stream: str | None) -> Feed:
    """The records of a program; what it passes as `y` is their label."""
    if stream is not None:
        return Feed(f"program:{stream}", replayable=False, label="y")
    run = os.urandom(4).hex()
    return Feed("program", replayable=False, stream=f"program#{run}", label="y")


class Member:
    """One device in one task, over a connection of its own.

    Records must be raw: see `fsir.task.task.Features`.

    What is offered before the task has come is learned when it comes, in its order, the newest
    `MOST_WAITING` of it; if the task is refused, none of it is. What waits when the member is
    closed was never learned: with a stream the next run may offer it again.

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
        self._waiting: deque[Record] = deque()
        self._left_out = 0

    def learn(self, x: Mapping[str, Any], y: Any, number: int | None = None) -> None:
        """Offer one record. Each record of the device belongs here once, ever.

        `number` is its place in the `stream`, rising; one that was seen before is passed by.
        """
        if self._numbered != (number is not None):
            raise StateError(
                "a member with a stream needs the number of each record, and one without takes none"
            )
        self._ordinal = self._ordinal + 1 if number is None else number
        # A copy: the caller may use its mapping again for the next record.
        record = Record(Position(self._ordinal), dict(x), y)
        self._learn_waiting()
        if self._unheard:
            self._wait(record)
        else:
            self.agent.learn(record)
        self.step()

    # --- before the task is known -----------------------------------------------------------------

    @property
    def waiting(self) -> int:
        """Records that wait for the task."""
        return len(self._waiting)

    @property
    def _unheard(self) -> bool:
        return self.agent.task is None and not self.agent.reason

    def _wait(self, record: Record) -> None:
        self._waiting.append(record)
        if self.waiting <= MOST_WAITING:
            return
        self._waiting.popleft()
        self._left_out += 1
        if self._left_out & (self._left_out - 1) == 0:  # at 1, 2, 4, 8, ...
            log.warning(
                "%s: the task has not come yet, and at most %d records wait for it: "
                "%d older ones will not be learned",
                *(self.agent.name, MOST_WAITING, self._left_out),
            )

    def _learn_waiting(self) -> None:
        """Learn what has waited, in its order, once there is an answer: each record once."""
        if self._unheard or not self._waiting:
            return
        if self.agent.reason:
            self._drop_waiting(self.agent.reason)
        while self._waiting:
            self.agent.learn(self._waiting.popleft())

    def _drop_waiting(self, why: str) -> None:
        what = "%s: %d records that waited for the task are not learned: %s"
        log.warning(what, self.agent.name, self.waiting, why)
        self._waiting.clear()

    # ----------------------------------------------------------------------------------------------

    def step(self) -> None:
        """Handle what has arrived, send what is due, save now and then; never waits."""
        now = time.monotonic()
        if self.agent.displaced:
            self._connection.close()  # and left to the other copy, which has the same name
        else:
            self._connection.step(now)
            self._connection.listen(self.agent.subscriptions())
        self._learn_waiting()
        for message in self.agent.outgoing(now):
            self._connection.publish(message.topic, message.payload, message.retain)
        if now - self._saved_at >= SAVE_SECONDS:
            self._saved_at = now
            self.agent.checkpoint()

    def close(self) -> None:
        """Save and leave."""
        if self._waiting:
            self._drop_waiting("it did not come before the program left")
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
