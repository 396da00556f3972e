"""A device that was withdrawn by mistake and let in again: each line of docs/operations.md."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from aggregator import merging
from aggregator.core import Aggregator
from aggregator.publication import Publication
from aggregator.store.sqlite import SqliteStore
from tests.system.harness.one_hot import Federation
from tests.system.sequences.device import EPOCH_SECONDS, Device

FEDERATION = Federation(devices=1, stock=4, records=2, mechanism="gaussian")
NAME = FEDERATION.names()[0]


class World:
    """One device that may be away, the aggregator, and a broker that retains what it publishes."""

    def __init__(self, folder: Path) -> None:
        self.now = 0.0
        self.deaf = False  # the device hears nothing
        self.device: Device | None = None
        self.retained: dict[str, bytes] = {}
        self.aggregator = Aggregator(SqliteStore(folder / "store.db"), [FEDERATION.task()])
        self.federation = self.aggregator.federations[FEDERATION.name]
        self.publish(self.aggregator.start(EPOCH_SECONDS))
        self.device = Device(0, FEDERATION, folder / "device")

    def publish(self, publications: list[Publication]) -> None:
        for about, payload, *_ in publications:
            self.retained[about] = payload
            if self.device is not None and not self.deaf:
                self.device.inbox.append((about, payload))

    def connect(self) -> None:
        """A new connection: whatever is retained is heard once more."""
        assert self.device is not None
        topics = self.device.agent.subscriptions()
        self.device.inbox = [(t, self.retained[t]) for t in topics if t in self.retained]
        self.device.agent.disconnected()
        self.device.agent.connected(self.now)

    def live(self, records: int = 0) -> None:
        """The device reads, learns and sends, the aggregator answers, again and again."""
        assert self.device is not None
        for _ in range(6):
            while self.device.inbox:
                self.device.agent.receive(*self.device.inbox.pop(0))
            self.device.learn(records)
            for about, payload in self.device.outgoing(self.now):
                self.aggregator.take(about, payload)
            self.publish(self.aggregator.commit(EPOCH_SECONDS + self.now))
            self.publish(self.aggregator.tick(EPOCH_SECONDS + self.now))
            self.now += 20.0

    @property
    def totals(self) -> bytes:
        return self.aggregator.store.totals(1, "final").values

    @property
    def counted(self) -> int:
        return self.aggregator.store.totals(1, "final").devices

    @property
    def sent(self) -> set[bytes]:
        assert self.device is not None
        return self.device.sent.get("final", set())

    def withdraw(self) -> None:
        """As the command does it; a running daemon notices within a moment."""
        self.aggregator.withdraw(NAME, EPOCH_SECONDS + self.now)
        self.publish(self.aggregator.tick(EPOCH_SECONDS + self.now))

    def readmit(self) -> int | None:
        """The same for the command that undoes it."""
        count = merging.readmit(self.aggregator.store, self.federation, NAME)
        self.publish(self.aggregator.tick(EPOCH_SECONDS + self.now))
        return count


@pytest.fixture
def world(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Iterator[World]:
    caplog.set_level(logging.CRITICAL)
    made = World(tmp_path)
    made.connect()
    made.live()  # the task, and the ask
    yield made
    made.aggregator.store.close()
    assert made.device is not None
    made.device.state.close()


def test_who_was_away_and_had_not_reported_is_counted_as_if_nothing_had_happened(
    world: World,
) -> None:
    world.deaf = True
    world.withdraw()
    assert world.readmit() == 0
    world.deaf = False
    world.connect()
    world.live(records=1)
    assert world.counted == len(world.sent) == 1


def test_who_still_has_its_report_sends_the_same_bytes_and_they_count_once(world: World) -> None:
    """It has not heard its receipt: sums have the bits that they had before the mistake."""
    world.deaf = True
    world.live(records=1)
    as_it_was = world.totals
    assert world.counted == 1
    world.withdraw()
    assert world.counted == 0
    assert world.readmit() == 1
    world.deaf = False
    world.connect()
    world.live()
    assert (world.counted, world.totals) == (1, as_it_was)
    assert len(world.sent) == 1
    world.connect()
    world.live(records=1)
    assert (world.counted, world.totals) == (1, as_it_was)


def test_of_who_has_its_receipt_nothing_comes_back_and_nothing_new_is_spent(world: World) -> None:
    world.live(records=1)
    assert world.counted == 1
    world.deaf = True
    world.withdraw()
    assert world.readmit() == 1
    world.deaf = False
    for _ in range(3):
        world.connect()
        world.live(records=1)
    assert world.counted == 0
    assert len(world.sent) == 1
    assert world.device is not None
    assert not world.device.agent.reason  # it stays a member


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("reported", [False, True])
def test_who_has_been_told_stops_and_goes_on_once_let_in_again(
    world: World, reported: bool, restarted: bool
) -> None:
    """One that had reported has nothing left to send; the other reports as it would have."""
    world.live(records=int(reported))
    world.withdraw()
    world.live(records=1)
    assert world.device is not None
    assert world.device.agent.reason.startswith("withdrawn")
    assert (world.counted, len(world.sent)) == (0, int(reported))
    if restarted:
        world.device.crash()
        world.connect()
        world.live()
        assert world.device.agent.reason.startswith("withdrawn")
    assert world.readmit() == int(reported)
    world.connect()
    world.live(records=1)
    assert not world.device.agent.reason
    assert (world.counted, len(world.sent)) == (int(not reported), 1)


def test_a_daemon_that_was_away_when_the_device_was_let_in_again_tells_it_later(
    world: World,
) -> None:
    """What the broker retains from before must not stop a device that was away, too."""
    world.deaf = True
    world.withdraw()
    merging.readmit(world.aggregator.store, world.federation, NAME)
    world.publish(world.aggregator.start(EPOCH_SECONDS + world.now))
    world.publish(world.aggregator.tick(EPOCH_SECONDS + world.now))
    world.deaf = False
    world.connect()
    world.live(records=1)
    assert world.counted == 1
