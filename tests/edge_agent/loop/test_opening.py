"""When a source is opened, how long it waits for tasks, and what is said meanwhile."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest

from edge_agent.agent import Phase
from edge_agent.loop.opening import (
    HOLD_SECONDS,
    PATIENCE_SECONDS,
    RECEIPT_SECONDS,
    TELL_AGAIN_SECONDS,
    TELL_SECONDS,
    Opening,
)

FILE = SimpleNamespace(name="csv:a", replayable=True)
PIPE = SimpleNamespace(name="jsonl:-", replayable=False, patient=True)
SENSOR = SimpleNamespace(name="iio:chip", replayable=False)
OTHERS = [PIPE, SENSOR]
ALL = [FILE, *OTHERS]


class Task:
    """An agent as far as its source is concerned, which waits for its task at first."""

    def __init__(self, name="test"):
        self.name = name
        self.phase = Phase.WAITING
        self.reason = ""
        self.serving = False
        self.between_rounds = False

    @property
    def wants_records(self):
        return self.phase is Phase.LEARNING


class World:
    """A clock that is put forward by the test, and one opening."""

    def __init__(self, source, *names):
        self.now = 1000.0
        self.tasks = [Task(name) for name in names or ("test",)]
        self.opening = Opening(self.tasks, source, lambda: self.now)

    def open_after(self, seconds):
        self.now += seconds
        return self.opening.is_open()


def named(source):
    return source.name


@pytest.mark.parametrize("source", ALL, ids=named)
def test_nothing_is_open_before_the_task_is_accepted(source):
    world = World(source)
    world.opening.connected(world.now)
    assert not any(world.open_after(step) for step in (0.0, 1.0, 100.0, 100_000.0))
    world.tasks[0].phase = Phase.LEARNING
    assert world.open_after(0.0)


@pytest.mark.parametrize(("source", "waits"), [(FILE, True), (PIPE, True), (SENSOR, False)])
def test_between_report_and_subspace_only_a_sensor_stays_open(source, waits):
    world = World(source)
    (task,) = world.tasks
    task.phase = Phase.LEARNING
    assert world.open_after(0.0)
    task.phase = Phase.REPORTED
    assert world.open_after(1.0) == (not waits)
    assert not world.opening.wanted
    assert world.opening.begun
    task.serving = True
    assert world.open_after(1.0)


@pytest.mark.parametrize(("source", "waits"), [(FILE, True), (PIPE, True), (SENSOR, False)])
def test_between_rounds_a_file_waits_for_the_receipt_but_not_for_ever(source, waits):
    world = World(source)
    (task,) = world.tasks
    task.phase = Phase.LEARNING
    task.serving = True
    assert world.open_after(0.0)
    for _ in range(2):
        task.phase = Phase.REPORTED
        task.between_rounds = True
        assert world.open_after(0.0) == (not waits)
        assert world.open_after(RECEIPT_SECONDS - 1) == (not waits)
        assert world.open_after(1.0)  # offline it serves on
        task.phase = Phase.LEARNING
        task.between_rounds = False
        assert world.open_after(0.0)


def test_between_rounds_of_one_task_another_may_have_the_records():
    world = World(FILE, "one", "two")
    world.tasks[0].phase = Phase.REPORTED
    world.tasks[0].between_rounds = True
    world.tasks[1].phase = Phase.LEARNING
    assert world.open_after(0.0)


@pytest.mark.parametrize("source", OTHERS, ids=named)
def test_one_task_waits_for_another_but_not_for_ever(source, caplog):
    world = World(source, "one", "two")
    world.now += 5000.0
    world.tasks[0].phase = Phase.LEARNING
    assert not world.open_after(0.0)
    assert not world.open_after(PATIENCE_SECONDS - 1)
    assert world.opening.due_times()[-1] == world.now + 1
    assert world.open_after(1.0)
    assert f"two: not there yet; {source.name} is read without it" in caplog.text


@pytest.mark.parametrize("source", OTHERS, ids=named)
@pytest.mark.parametrize("how", ["accepted", "refused"])
def test_it_waits_no_longer_once_every_task_is_known(source, how, caplog):
    world = World(source, "one", "two")
    world.tasks[0].phase = Phase.LEARNING
    assert not world.open_after(0.0)
    if how == "accepted":
        world.tasks[1].phase = Phase.LEARNING
    else:
        world.tasks[1].reason = "it takes too much"
    assert world.open_after(3.0)
    assert not caplog.text


def test_a_file_waits_for_other_tasks_while_the_broker_may_tell_them():
    world = World(FILE, "one", "two")
    world.tasks[0].phase = Phase.LEARNING
    assert world.open_after(0.0)  # offline it goes on with what it knows
    world.opening.connected(world.now)
    assert not world.open_after(HOLD_SECONDS / 2)
    assert world.open_after(HOLD_SECONDS / 2)


@pytest.mark.parametrize(("source", "expected"), [(FILE, False), (PIPE, True), (SENSOR, False)])
def test_where_every_task_is_refused_a_pipe_may_run_dry(source, expected):
    world = World(source, "one", "two")
    world.tasks[0].reason = "it takes too much"
    assert not world.open_after(1000.0)
    world.tasks[1].reason = "it takes too much"
    assert world.open_after(0.0) == expected


def test_what_is_waited_for_is_said_once_and_then_every_hour(caplog):
    caplog.set_level(logging.INFO)
    world = World(PIPE, "one", "two")
    world.tasks[1].reason = "it takes too much"
    said = []
    for seconds in (0.0, TELL_SECONDS, 10.0, TELL_AGAIN_SECONDS - 11, 1.0, 10.0):
        world.now += seconds
        caplog.clear()
        world.opening.tell()
        said.append(len(caplog.records))
        if caplog.records:
            assert caplog.messages == [
                "waiting for the task one: jsonl:- is not read before one is accepted, so that no "
                "record is lost"
            ]
    assert said == [0, 1, 0, 0, 1, 0]
    assert world.opening.due_times() == [world.now - 10.0 + TELL_AGAIN_SECONDS]
    world.tasks[0].phase = Phase.LEARNING
    assert world.open_after(TELL_AGAIN_SECONDS)
    caplog.clear()
    world.opening.tell()
    assert not caplog.messages
    assert not world.opening.due_times()
