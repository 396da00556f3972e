"""A virtual device: the agent's own state machine and connection, and a stream of records."""

from __future__ import annotations

import math
from collections.abc import Callable

from edge_agent.agent import Agent, Phase
from fsir.net.broker import Broker
from sim_devices.datasets.population import DeviceStream
from sim_devices.network.connections import Inbox, connection_of
from sim_devices.network.fleet.faults import Fate

RECORDS_AT_ONCE = 512  # learned by one device before the next one has its turn
LATE_SECONDS = 3.0  # after which late devices come
PATIENCE_SECONDS = 10.0  # without a task or an active set before a device asks again


class VirtualDevice:
    """One device: its agent, its connection and its stream."""

    def __init__(
        self,
        stream: DeviceStream,
        make_agent: Callable[[], Agent],
        broker: Broker,
        fate: Fate,
    ) -> None:
        self.name = stream.device
        self.reports: set[bytes] = set()  # different ones; one per stage if all is well
        self.messages_sent = 0  # retries included
        self.crashes = 0
        self.cuts = 0
        half = max(1, len(stream) // 2)
        self.starts_at = LATE_SECONDS if fate.late else 0.0
        self.cut_at = half if fate.dropped else None  # lose the connection at this record
        self.crash_at = max(1, half // 2) if fate.crashed else None
        self._stream = stream
        self._make_agent = make_agent
        self._broker = broker
        self._start()

    def _start(self) -> None:
        self.agent = self._make_agent()
        self._inbox = Inbox()
        self._connection = connection_of(
            self._broker, f"sim-{self.name}", self.agent.subscriptions(), self._inbox
        )
        self.phase = self.agent.phase  # as it was after its last turn
        self._was_up = False
        self._due = 0.0
        self._ask_at = 0.0

    @property
    def records(self) -> int:
        """How many records it has in all."""
        return len(self._stream)

    @property
    def bytes_sent(self) -> int:
        """Size of its reports, without retries."""
        return sum(len(report) for report in self.reports)

    @property
    def done(self) -> bool:
        """Whether the aggregator has answered the final report, or the device takes no part."""
        return self.phase in (Phase.SERVING, Phase.STOPPED)

    @property
    def unanswered(self) -> bool:
        """Whether it waits for a task or a receipt; an active set comes after all have voted."""
        return not self.done and self.phase != Phase.SCREENED

    def fileno(self) -> int | None:
        """What to wait on, if connected."""
        return self._connection.fileno()

    def exchange(self, now: float) -> None:
        """Take what has arrived, send what waits, connect if it is time."""
        self._connection.step(now)
        self._due = self._connection.next_due(now)

    @property
    def wants_turn(self) -> bool:
        """Whether an exchange has changed something for the agent: a mere confirmation has not."""
        moved = self._connection.up != self._was_up
        return moved or bool(self._inbox) or self._connection.wants_write()

    def next_due(self, now: float) -> float:
        """When it has something to do, if nothing arrives meanwhile."""
        if self._learns or self._inbox or self._connection.wants_write():
            return now
        times = [self._connection.next_due(now), self._ask_at if self._asks else math.inf]
        if (due := self.agent.next_due(now)) is not None and self._connection.up:
            times.append(due)
        return min(times)

    def step(self, now: float) -> None:
        """Do a little of everything."""
        lost = self._connection.fileno() is None
        if lost or now >= self._due or self._connection.wants_write():
            self.exchange(now)
        self._notice(now)
        self._ask_again(now)
        while self._inbox:
            message = self._inbox.popleft()
            self.agent.receive(message.topic, bytes(message.payload))
        self._connection.listen(self.agent.subscriptions())
        self._learn(now)
        for publication in self.agent.outgoing(now):
            if publication.is_report:
                self.messages_sent += 1
                self.reports.add(publication.payload)
            self._connection.publish(publication.topic, publication.payload)
        self.phase = self.agent.phase

    def _notice(self, now: float) -> None:
        """Tell the agent that the connection has come or gone."""
        if self._connection.up == self._was_up:
            return
        self._was_up = self._connection.up
        if self._was_up:
            self.agent.connected(now)
        else:
            self.agent.disconnected()

    def _ask_again(self, now: float) -> None:
        """A task or an active set that does not come may have been lost on the way."""
        if not self._asks:
            self._ask_at = now + PATIENCE_SECONDS
        elif now >= self._ask_at:
            self._ask_at = now + PATIENCE_SECONDS
            self._connection.subscribe(self.agent.subscriptions())

    @property
    def _asks(self) -> bool:
        return self._connection.up and self.phase in (Phase.WAITING, Phase.SCREENED)

    @property
    def _learns(self) -> bool:
        return self.agent.wants_records and self.agent.position.ordinal + 1 < self.records

    def _learn(self, now: float) -> None:
        if not self._learns:
            return
        start = self.agent.position.ordinal + 1
        marks = [mark for mark in (self.cut_at, self.crash_at) if mark is not None and start < mark]
        stop = min(start + RECORDS_AT_ONCE, self.records, *marks)
        stop = start + self.agent.learn_many(self._stream.X[start:stop], self._stream.y[start:stop])
        if self.cut_at is not None and stop >= self.cut_at:
            self.cut_at = None
            self.cuts += 1
            self._connection.cut(now)
        if self.crash_at is not None and stop >= self.crash_at:
            self.crash_at = None
            self.crashes += 1
            self._crash(now)
        elif stop % (4 * RECORDS_AT_ONCE) == 0:
            self.agent.checkpoint()

    def _crash(self, now: float) -> None:
        """Gone in an instant and back: what was not committed is lost, the disk remains."""
        self._connection.cut(now)
        self._start()

    def rest(self) -> None:
        """Leave the broker with a good-bye, as an agent may that has its receipts."""
        self._connection.rest(math.inf)

    def leave(self) -> None:
        """Say good-bye."""
        self._connection.close()
