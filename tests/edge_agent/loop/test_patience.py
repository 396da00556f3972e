"""When nothing is learned it is said why, where and what to do: once, and again every hour."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from edge_agent.loop.patience import AGAIN_SECONDS, IN_A_ROW, SILENT_SECONDS, Patience
from edge_agent.records import Position, Record
from tests.edge_agent.world import records, simulated
from tests.fsir.tasks import task

OF = task(report={"records": 5000})


@dataclass
class Source:
    """As much of a source as is looked at."""

    name: str = "csv:/srv/readings.csv"
    ended: bool = False


class World:
    """One agent, its patience, and a clock that somebody moves."""

    def __init__(self, name="csv:/srv/readings.csv"):
        self.now = 1000.0
        self.agent = simulated(OF)
        self.source = Source(name)
        self.patience = Patience([self.agent], self.source, lambda: self.now)
        self._ordinal = 0

    def offer(self, values, y=None, *, times=1, every=0.01):
        for _ in range(times):
            before = self.agent.learned
            self.agent.learn(Record(Position(self._ordinal), values, y))
            self._ordinal += 1
            self.patience.looked_at(self.agent, learned=self.agent.learned > before)
            self.now += every

    def wait(self, seconds):
        self.now += seconds
        self.patience.step(came=bool(self._ordinal))


RENAMED = {"x0": 1.0, "x-1": 2.0, "x2": 3.0, "y": "a"}
GOOD = {"x0": 1.0, "x1": 2.0, "x2": 3.0, "y": "a"}


def test_fifty_refused_records_in_a_row(caplog):
    world = World()
    world.offer(RENAMED, times=IN_A_ROW - 1)
    assert not caplog.records
    world.offer(RENAMED, times=30)
    (said,) = [record.getMessage() for record in caplog.records]
    assert said == (
        "test: 50 records in a row were not learned, in 0 s; the last one, record 49 of "
        "csv:/srv/readings.csv: there is no 'x1', a feature of the task; is 'x-1' what is meant? "
        "rename it; fsir-agent try looks at them all"
    )


def test_half_a_minute_without_one_that_is_learned(caplog):
    world = World()
    world.offer(RENAMED, times=3, every=10.0)
    world.wait(0.0)
    assert len(caplog.records) == 1
    assert "3 records in a row were not learned, in 30 s" in caplog.text


def test_one_that_is_learned_is_enough(caplog):
    world = World()
    for _ in range(10):
        world.offer(RENAMED, times=IN_A_ROW - 1)
        world.offer(GOOD)
    world.wait(SILENT_SECONDS)
    assert not caplog.records


def test_it_is_said_again_every_hour(caplog):
    world = World()
    world.offer(RENAMED, times=IN_A_ROW)
    for _ in range(59):
        world.wait(60.0)
        world.offer(RENAMED)
    assert len(caplog.records) == 1
    world.wait(120.0)
    assert len(caplog.records) == 2
    assert min(world.patience.due_times()) == pytest.approx(world.now + AGAIN_SECONDS)


def test_nobody_is_bothered_for_a_button_that_nobody_presses(caplog):
    world = World("iio:mpu6050")
    world.offer(GOOD, "", times=IN_A_ROW)
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


@pytest.mark.parametrize(
    ("name", "awaited"),
    [
        ("csv:/a.csv", "new lines at the end of the file; does anybody write into it?"),
        ("jsonl:-", "new lines; does anybody write them?"),
        ("mqtt:kitchen", "messages; does the sensor publish on this topic, on this broker?"),
        ("other:thing", "records; is it switched on?"),
    ],
)
def test_no_record_at_all(caplog, name, awaited):
    world = World(name)
    world.wait(0.0)
    world.wait(SILENT_SECONDS - 1.0)
    assert not caplog.records
    assert world.patience.due_times() == [world.now + 1.0]
    world.wait(1.0)
    assert caplog.messages == [f"{name}: no record in 30 s; waiting for {awaited}"]
    world.wait(AGAIN_SECONDS)
    assert len(caplog.messages) == 2


def test_a_source_that_has_ended_or_is_not_wanted_is_not_waited_for(caplog):
    world = World()
    world.source.ended = True
    world.wait(0.0)
    world.wait(SILENT_SECONDS)
    assert not caplog.records
    assert not world.patience.due_times()
    waiting = Patience([], Source(), lambda: world.now)
    waiting.step(came=False)
    assert not waiting.due_times()


def test_records_that_come_slowly_are_no_silence(caplog):
    world = World()
    for record in records(OF, 5):
        world.offer(record.x)
        world.wait(300.0)
    assert not caplog.records
