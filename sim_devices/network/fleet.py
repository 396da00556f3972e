"""A fleet of virtual devices in one process: each has its own connection, identity and state, and runs the agent's own
state machine. Devices may come late, lose their connection half-way, crash and return, or never come at all.
"""

from __future__ import annotations

import contextlib
import random
import resource
import selectors
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from edge_agent.agent import Agent, Phase
from sim_devices.datasets.population import DeviceStream
from sim_devices.network.link import Link

RECORDS_AT_ONCE = 512  # learned by one device before the next one has its turn
CONNECTING_AT_ONCE = 50  # a broker takes its time to greet thousands
LATE = 3.0  # seconds after which late devices come
PATIENCE = 10.0  # seconds without a task or an active set before a device asks again
_TICK = 0.05


@dataclass(frozen=True)
class Faults:
    """Shares of the fleet to which something happens, once each."""

    dropout: float = 0.0  # lose their connection half-way
    crash: float = 0.0  # lose everything that is not in their state, and return
    late: float = 0.0  # come a while after the others
    absent: float = 0.0  # never come


class VirtualDevice:
    """One device: its agent, its link and its stream."""

    def __init__(self, stream: DeviceStream, make_agent: Callable[[], Agent], url: str) -> None:
        self.name = stream.device
        self.reports: set[bytes] = set()  # different ones; one per stage if all is well
        self.messages_sent = 0  # retries included
        self.crashes = self.cuts = 0
        self.starts_at = 0.0
        self.cut_at: int | None = None  # lose the connection at this record
        self.crash_at: int | None = None
        self._stream, self._make_agent, self._url = stream, make_agent, url
        self._retry_at = self._ask_at = 0.0
        self._was_ready = False
        self._start()

    def _start(self) -> None:
        self.agent = self._make_agent()
        self.link = Link(self._url, f"sim-{self.name}", self.agent.subscriptions())

    @property
    def bytes_sent(self) -> int:
        """Size of its reports, without retries."""
        return sum(len(report) for report in self.reports)

    @property
    def done(self) -> bool:
        """Whether the aggregator has answered the final report, or the device takes no part."""
        return self.agent.phase in (Phase.SERVING, Phase.STOPPED)

    def step(self, now: float) -> None:
        """Do a little of everything."""
        self.link.maintain()
        if self.link.ready != self._was_ready:
            self._was_ready = self.link.ready
            if self.link.ready:
                self.agent.connected(now)
            else:
                self.agent.disconnected()
        if self.link.socket is None and now >= self._retry_at:
            self._retry_at = now + 0.5 + random.random()  # not all at once
            self.link.open()
        self._ask_again(now)
        while self.link.inbox:
            about, payload, _ = self.link.inbox.popleft()
            self.agent.receive(about, payload)
        self._learn()
        for message in self.agent.outgoing(now):
            self.messages_sent += 1
            self.reports.add(message.payload)
            self.link.publish(message.topic, message.payload)

    def _ask_again(self, now: float) -> None:
        """A task or an active set that does not come may have been lost on the way."""
        if not self.link.ready or self.agent.phase not in (Phase.WAITING, Phase.SCREENED):
            self._ask_at = now + PATIENCE
        elif now >= self._ask_at:
            self._ask_at = now + PATIENCE
            self.link.subscribe()

    def _learn(self) -> None:
        start = self.agent.position.ordinal + 1
        if not self.agent.wants_records or start >= len(self._stream):
            return
        marks = [mark for mark in (self.cut_at, self.crash_at) if mark is not None and start < mark]
        stop = min(start + RECORDS_AT_ONCE, len(self._stream), *marks)
        stop = start + self.agent.learn_many(self._stream.X[start:stop], self._stream.y[start:stop])
        if self.cut_at is not None and stop >= self.cut_at:
            self.cut_at, self.cuts = None, self.cuts + 1
            self.link.cut()
        if self.crash_at is not None and stop >= self.crash_at:
            self.crash_at, self.crashes = None, self.crashes + 1
            self.crash()
        elif stop % (4 * RECORDS_AT_ONCE) == 0:
            self.agent.checkpoint()

    def crash(self) -> None:
        """Gone in an instant and back: what was not committed is lost, the disk remains."""
        self.link.cut()
        self._was_ready = False
        self._start()


class Fleet:
    """All virtual devices, driven from one loop: a thread per client would stop at a few hundred."""

    def __init__(self, devices: Sequence[VirtualDevice], faults: Faults, seed: int) -> None:
        rng = random.Random(seed)
        self.devices = [device for device in devices if rng.random() >= faults.absent] or list(
            devices[:1]
        )
        for device in self.devices:
            half = max(1, len(device._stream) // 2)
            device.starts_at = LATE if rng.random() < faults.late else 0.0
            device.cut_at = half if rng.random() < faults.dropout else None
            device.crash_at = max(1, half // 2) if rng.random() < faults.crash else None
        self._selector = selectors.DefaultSelector()
        self._watched: dict[VirtualDevice, object] = {}

    def run(
        self, finished: Callable[[], bool], seconds: float, progress: Callable[[int], None]
    ) -> bool:
        """Drive all devices until `finished`; False if that takes longer than `seconds`."""
        _raise_descriptor_limit()
        start = time.monotonic()
        started: list[VirtualDevice] = []
        waiting = sorted(self.devices, key=lambda device: device.starts_at)
        while time.monotonic() - start < seconds:
            now = time.monotonic()
            due = sum(now - start >= device.starts_at for device in waiting[:CONNECTING_AT_ONCE])
            started += waiting[:due]
            del waiting[:due]
            for device in started:
                device.step(now)
                self._watch(device)
            self._read(0.0 if waiting else _TICK)
            progress(sum(device.done for device in started))
            if not waiting and finished():
                return True
        return False

    def _watch(self, device: VirtualDevice) -> None:
        """Keep the selector in step with connections that come and go."""
        sock, known = device.link.socket, self._watched.get(device)
        if sock is known:
            return
        if known is not None:
            with contextlib.suppress(KeyError, ValueError):  # a closed socket has left already
                self._selector.unregister(known)  # type: ignore[arg-type]
            del self._watched[device]
        if sock is not None:
            with contextlib.suppress(KeyError):  # the number of a closed socket may be in use again
                self._selector.unregister(sock)
            self._selector.register(sock, selectors.EVENT_READ, device)
            self._watched[device] = sock

    def _read(self, timeout: float) -> None:
        deadline = time.monotonic() + 5 * _TICK
        while (events := self._selector.select(timeout)) and time.monotonic() < deadline:
            for key, _ in events:
                key.data.link.readable()
                self._watch(key.data)
            timeout = 0.0

    def close(self) -> None:
        """Let all devices say good-bye."""
        for device in self.devices:
            device.link.close()
        self._selector.close()


def _raise_descriptor_limit() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
