"""Random faults, from a seed: whatever crashes in between, every report counts exactly once.

The number in a test's name is the seed of its schedule: `pytest tests/system/test_faults.py -k '[17]'` runs it again.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from edge_agent.exchange import gate
from edge_agent.mqtt import connection
from tests.system.one_hot import Federation
from tests.system.operations import forge_receipt, kill_aggregator, withdraw
from tests.system.proxy import Weather
from tests.system.schedules import Schedule, run_schedule, schedule
from tests.system.world import Setup, World

pytestmark = [pytest.mark.broker, pytest.mark.usefixtures("short_delays")]
QUICK, ALL = 25, 500
SEEDS = [*range(QUICK), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(QUICK, ALL))]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_report_counts_exactly_once(seed, tmp_path, forkserver):
    wrong, log = run_schedule(seed, tmp_path, forkserver)
    assert not wrong, "\n".join([*wrong, "", *log])


KINDS: dict[str, Callable[[Schedule], object]] = {
    "two tasks": lambda plan: plan.setup.second,
    "a task that is refused": lambda plan: plan.setup.shy,
    "two workers": lambda plan: plan.setup.workers > 1,
    "votes": lambda plan: any(task.votes for task in plan.setup.federations),
    "trimmed": lambda plan: any(task.trimmed for task in plan.setup.federations),
    "trimmed screening": lambda plan: any(
        task.trimmed and task.screening for task in plan.setup.federations
    ),
    "estimates": lambda plan: plan.setup.debounce is not None,
    "withdrawal": lambda plan: plan.setup.victims and withdraw in plan.operations,
    "a task that is stopped": lambda plan: plan.setup.victims and forge_receipt in plan.operations,
    "a worker killed": lambda plan: plan.setup.workers > 1 and kill_aggregator in plan.operations,
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_schedules_are_of_every_kind(kind):
    hits = [seed for seed in range(ALL) if KINDS[kind](schedule(seed))]
    assert min(hits) < QUICK
    assert len(hits) >= ALL // 20


@pytest.mark.parametrize("kind", ["debian", "shipped"])
def test_acknowledged_messages_that_the_broker_loses_are_counted_in_the_end(
    kind, tmp_path, forkserver
):
    """The broker has a queue for the aggregator, acknowledges every report, and is killed before it saves."""
    world = World(Setup(Federation(8, 2, 2), kind), tmp_path, forkserver, 1)
    try:
        world.wait_for_task()
        world.stop_aggregator()
        acknowledged: set[str] = set()
        for device in world.devices:
            device.appetite = 2
            device.on_acknowledged(lambda name=device.name: acknowledged.add(name))
        deadline = time.monotonic() + 30
        while len(acknowledged) < len(world.devices):
            assert time.monotonic() < deadline, f"only {acknowledged} were acknowledged"
            world.turn(0.02)
        assert not any(device.settled for device in world.devices)
        assert not world.broker.saved
        for device in world.devices:
            device.crash()  # so that nobody sends again before the queue is gone
        world.broker.kill()
        world.broker.restart()
        world.start_aggregator()
        time.sleep(0.5)
        assert world.counted() == 0, (
            "the broker has kept what it was killed with: this test tests nothing"
        )
        assert world.finish() == []
        assert world.counted() == len(world.devices)
    finally:
        world.close()


def test_a_queue_that_overflows_in_silence_loses_nothing(tmp_path, forkserver):
    """mosquitto tells publishers that all is well while it drops what exceeds its queue."""
    setup = Setup(Federation(6, 1, 1), more=("max_queued_messages 2", "max_inflight_messages 1"))
    world = World(setup, tmp_path, forkserver, 1)
    try:
        world.wait_for_task()
        world.stop_aggregator()
        for device in world.devices:
            device.appetite = 1
        world.turn(1.0)
        assert world.finish() == []
        assert world.counted() == 6
    finally:
        world.close()


@pytest.mark.parametrize("throttle", [0, 2], ids=["quick", "slow"])
def test_a_card_that_was_restored_behind_its_report_gets_no_second_one_out(
    throttle, tmp_path, forkserver, monkeypatch
):
    """A state directory from before the report, put back after it: the receipt on the broker gives it away.

    On a link of two bytes at a time it comes long after the subscription was confirmed, and still before the task.
    """
    for module, name in (
        (gate, "UNHEARD"),
        (connection, "WELCOME_SECONDS"),
        (connection, "KEEPALIVE_SECONDS"),
    ):
        monkeypatch.setattr(module, name, 60)
    world = World(Setup(Federation(2, 2, 2, mechanism="gaussian")), tmp_path, forkserver, 1)
    try:
        world.wait_for_task()
        device = world.devices[0]
        device.appetite = 1
        world.turn(0.1)
        device.checkpoint()
        device.crash()
        saved = (tmp_path / device.name / "agent.sqlite").read_bytes()
        assert world.finish() == []
        (tmp_path / device.name / "agent.sqlite").write_bytes(saved)
        before = {stage: set(sent) for stage, sent in device.sent["one-hot"].items()}
        world.near.weather = Weather(throttle=throttle)
        device.start()
        device.appetite = 5
        world.start_aggregator()
        deadline = time.monotonic() + 60
        while device.agent is not None and not device.agent.reason:
            assert time.monotonic() < deadline
            world.turn(0.05)
        assert device.agent is not None
        assert "did not make" in device.agent.reason
        assert device.sent["one-hot"] == before
    finally:
        world.close()
