"""Who has a turn in a fleet, and when."""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from sim_devices.network.fleet import fleet as fleets
from sim_devices.network.fleet.fleet import Fleet


class Waiting:
    """A device that is due at given times only, or when something arrives."""

    records = 10
    done = False
    unanswered = False
    rested = False
    starts_at = 0.0
    wants_turn = True

    def __init__(self, pause: float, line: socket.socket | None = None) -> None:
        self.turns = 0
        self.heard = b""
        self._pause = pause
        self._line = line

    def fileno(self) -> int | None:
        return None if self._line is None else self._line.fileno()

    def exchange(self, now: float) -> None:
        assert self._line is not None
        self.heard += self._line.recv(100)

    def step(self, now: float) -> None:
        self.turns += 1

    def next_due(self, now: float) -> float:
        return now + self._pause

    def rest(self) -> None:
        self.rested = True

    def leave(self) -> None:
        self.done = True


@contextmanager
def fleet_of(*devices: Waiting) -> Iterator[Fleet]:
    fleet = Fleet(devices)  # type: ignore[arg-type]
    try:
        yield fleet
    finally:
        fleet.close()


def after(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end


def nothing(done: int) -> None:
    pass


def test_who_waits_has_no_turn_before_it_is_due() -> None:
    patient = Waiting(pause=1000.0)
    busy = Waiting(pause=0.0)
    with fleet_of(patient, busy) as fleet:
        assert fleet.run(after(0.3), 10.0, nothing)
    assert patient.turns == 1
    assert busy.turns > 2


def test_who_is_sent_something_has_a_turn_at_once() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        device = Waiting(pause=1000.0, line=ours)
        with fleet_of(device) as fleet:
            theirs.send(b"receipt")
            assert fleet.run(lambda: device.turns >= 2, 10.0, nothing)
    assert device.heard == b"receipt"


def test_a_mere_confirmation_gives_no_turn() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        device = Waiting(pause=1000.0, line=ours)
        device.wants_turn = False
        with fleet_of(device) as fleet:
            theirs.send(b"confirmed")
            assert fleet.run(lambda: bool(device.heard), 10.0, nothing)
    assert device.turns == 1


def test_a_fleet_counts_who_is_done() -> None:
    devices = [Waiting(pause=0.0) for _ in range(3)]
    with fleet_of(*devices) as fleet:
        assert fleet.run(after(0.1), 10.0, nothing)
        assert fleet.done == 0
        devices[1].done = True
        assert fleet.run(lambda: fleet.done == 1, 10.0, nothing)


def test_a_fleet_that_does_not_end_is_given_up() -> None:
    with fleet_of(Waiting(pause=0.01)) as fleet:
        assert not fleet.run(lambda: False, 0.2, nothing)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> int:
    """How many may wait for an answer at once."""
    monkeypatch.setattr(fleets, "UNANSWERED_AT_ONCE", 60)
    monkeypatch.setattr(fleets, "STALLED_SECONDS", 1000.0)
    return 60


def crowd(size: int, *, unanswered: bool) -> list[Waiting]:
    devices = [Waiting(pause=1000.0) for _ in range(size)]
    for device in devices:
        device.unanswered = unanswered
    return devices


def come(devices: list[Waiting]) -> Callable[[], bool]:
    """Whether each of them has had a turn."""
    return lambda: all(device.turns for device in devices)


def test_no_more_come_than_can_be_answered_while_answers_are_awaited(few: int) -> None:
    devices = crowd(2 * few, unanswered=True)
    with fleet_of(*devices) as fleet:
        fleet._moved_at = time.monotonic()
        assert not fleet.run(come(devices), 1.0, nothing)
    assert sum(device.turns for device in devices) == few


def test_all_come_where_all_are_answered(few: int) -> None:
    devices = crowd(2 * few, unanswered=False)
    with fleet_of(*devices) as fleet:
        assert fleet.run(come(devices), 10.0, nothing)


def test_who_waits_for_those_yet_to_come_does_not_keep_them_out(
    few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleets, "STALLED_SECONDS", 0.01)
    devices = crowd(4 * few, unanswered=True)
    with fleet_of(*devices) as fleet:
        assert fleet.run(come(devices), 20.0, nothing)


def test_those_in_other_processes_wait_for_answers_too(few: int) -> None:
    """A third of the devices may keep a third of all answers waiting."""
    devices = crowd(few, unanswered=True)
    fleet = Fleet(devices, of=3 * few)  # type: ignore[arg-type]
    fleet._moved_at = time.monotonic()
    assert not fleet.run(come(devices), 1.0, nothing)
    fleet.close()
    assert sum(device.turns for device in devices) == few // 3


@pytest.mark.parametrize("listeners", [2, 3])
def test_who_has_a_receipt_leaves_a_broker_that_cannot_hold_all(
    listeners: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleets, "LISTENERS", listeners)
    devices = crowd(3, unanswered=False)
    devices[0].done = True
    with fleet_of(*devices) as fleet:
        assert fleet.run(come(devices), 10.0, nothing)
    assert [device.rested for device in devices] == [listeners < 3, False, False]
