"""A fleet of virtual devices in one process: each has its own connection, identity and state.

Devices may come late, lose their connection half-way, crash and return, or never come at all. A
device has its turn when something has arrived for it, or when its own clock says so: thousands that
wait cost nothing.
"""

from __future__ import annotations

import gc
import heapq
import resource
import selectors
import time
from collections import deque
from collections.abc import Callable, Sequence

from edge_agent.agent import Phase
from sim_devices.network.fleet.device import VirtualDevice
from sim_devices.network.fleet.tally import Tally

CONNECTING_AT_ONCE = 50  # a broker takes its time to greet thousands
# Who waits for an answer while thousands of others connect asks again, and makes them all slower.
UNANSWERED_AT_ONCE = 2000
LISTENERS = (
    10_000  # in a larger fleet who has a receipt leaves: a process has so many lines at most
)
STALLED_SECONDS = 1.0  # without an answer to anybody: they may wait for those who are yet to come
TICK_SECONDS = 0.01
READING_SECONDS = 0.25  # after which those are heard whose own clock has rung


class Fleet:
    """All virtual devices, driven from one loop: a thread each would stop at a few hundred."""

    def __init__(self, devices: Sequence[VirtualDevice], of: int | None = None) -> None:
        """Play these devices; there are more in other processes if they are some `of` so many."""
        self.devices = devices
        self.size = len(devices)
        self.done = 0  # devices that have their answer, or take no part
        everyone = of or self.size
        self._leaving = everyone > LISTENERS
        self._most_unanswered = max(1, UNANSWERED_AT_ONCE * self.size // everyone)
        self._selector = selectors.DefaultSelector()
        self._watched: dict[VirtualDevice, int] = {}
        self._due: list[tuple[float, int, VirtualDevice]] = []  # a heap; the latest entry holds
        self._turns = 0
        self._latest: dict[VirtualDevice, int] = {}  # the turn of each
        self._finished: set[VirtualDevice] = set()
        self._unanswered: set[VirtualDevice] = set()  # of those who have come
        self._moved_at = float("-inf")  # the last time that one of them had its answer

    @property
    def accepted(self) -> int:
        """How many were counted; to be asked when all are done."""
        return sum(device.phase == Phase.SERVING for device in self.devices)

    def tally(self) -> Tally:
        """What there is to tell of all of them."""
        return Tally.of(self.devices)

    def run(
        self, finished: Callable[[], bool], seconds: float, progress: Callable[[int], None]
    ) -> bool:
        """Drive all devices until `finished`; False if that takes longer than `seconds`."""
        _raise_descriptor_limit()
        gc.disable()  # all devices stay until the end: looking at each of them again finds nothing
        try:
            return self._drive(finished, seconds, progress)
        finally:
            gc.enable()

    def _drive(
        self, finished: Callable[[], bool], seconds: float, progress: Callable[[int], None]
    ) -> bool:
        start = time.monotonic()
        waiting = deque(sorted(self.devices, key=lambda device: device.starts_at))
        while time.monotonic() - start < seconds:
            now = time.monotonic()
            more = self._admit(waiting, start, now)
            self._turn_due(now)
            self._read(self._pause(now, more), bool(waiting))
            progress(self.done)
            if finished():
                return True
        return False

    def _admit(self, waiting: deque[VirtualDevice], start: float, now: float) -> bool:
        """Let some of those come whose time it is; False if nobody has."""
        room = self._room(now)
        came = 0
        while waiting and came < room and now - start >= waiting[0].starts_at:
            self._turn(waiting.popleft(), now)
            came += 1
        return came > 0

    def _room(self, now: float) -> int:
        """How many may come now."""
        room = min(self._most_unanswered - len(self._unanswered), CONNECTING_AT_ONCE)
        if room <= 0 and now - self._moved_at >= STALLED_SECONDS:
            self._moved_at = now
            return CONNECTING_AT_ONCE
        return room

    def _turn(self, device: VirtualDevice, now: float) -> None:
        """Let a device do a little of everything, and note when it is to have its next turn."""
        device.step(now)
        self._watch(device)
        self._turns += 1
        self._latest[device] = self._turns
        heapq.heappush(self._due, (device.next_due(now), self._turns, device))
        self._note(device, now)

    def _note(self, device: VirtualDevice, now: float) -> None:
        """Keep count of who has been answered."""
        if device.unanswered:
            self._unanswered.add(device)
        elif device in self._unanswered:
            self._unanswered.remove(device)
            self._moved_at = now
        if device.done and device not in self._finished:
            self._finished.add(device)
            self.done = len(self._finished)
            if self._leaving:
                device.rest()
                self._watch(device)

    def _turn_due(self, now: float) -> None:
        due = []
        while self._due and self._due[0][0] <= now:
            _, turn, device = heapq.heappop(self._due)
            if turn == self._latest[device]:
                due.append(device)
        for device in due:
            self._turn(device, now)

    def _pause(self, now: float, more: bool) -> float:
        """How long to wait for something to arrive."""
        if more or not self._due:
            return 0.0 if more else TICK_SECONDS
        return min(max(self._due[0][0] - now, 0.0), TICK_SECONDS)

    def _watch(self, device: VirtualDevice) -> None:
        """Keep the selector in step with connections that come and go.

        A step of a device loses a connection or opens one, never both: a descriptor is given back
        here before its number can be in use again.
        """
        descriptor = device.fileno()
        known = self._watched.get(device)
        if descriptor == known:
            return
        if known is not None:
            self._selector.unregister(known)
            del self._watched[device]
        if descriptor is not None:
            self._selector.register(descriptor, selectors.EVENT_READ, device)
            self._watched[device] = descriptor

    def _read(self, timeout: float, more: bool) -> None:
        """Take what has arrived; not for long while there are more devices to come."""
        deadline = time.monotonic() + (READING_SECONDS / 10 if more else READING_SECONDS)
        while (events := self._selector.select(timeout)) and time.monotonic() < deadline:
            now = time.monotonic()
            for key, _ in events:
                device = key.data
                device.exchange(now)
                if device.wants_turn or device.fileno() != key.fd:
                    self._turn(device, now)
            timeout = 0.0

    def close(self) -> None:
        """Let all devices say good-bye."""
        for device in self.devices:
            device.leave()
        self._selector.close()


def _raise_descriptor_limit() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
