"""Random faults, from a seed: whatever crashes in between, every report counts exactly once.

The number in a test's name is the seed of its schedule, and runs it again:
`pytest tests/system/faults/test_faults.py -k '[17]'`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from edge_agent.exchange import gate
from edge_agent.mqtt import connection
from tests.system.faults.operations import forge_receipt, kill_aggregator, withdraw
from tests.system.faults.schedules import Schedule, run_schedule, schedule
from tests.system.faults.setup import Setup
from tests.system.faults.world import World
from tests.system.harness.one_hot import Federation
from tests.system.harness.proxy import Weather

pytestmark = [pytest.mark.broker, pytest.mark.usefixtures("short_delays")]
QUICK = 25
ALL = 500
QUICK_ROUNDS = 10
ALL_ROUNDS = 200


def seeds(quick: int, every: int) -> list[Any]:
    """Those of every run, and those of the long one."""
    slow = [pytest.param(seed, marks=pytest.mark.slow) for seed in range(quick, every)]
    return [*range(quick), *slow]


@pytest.mark.parametrize("seed", seeds(QUICK, ALL))
def test_every_report_counts_exactly_once(seed, tmp_path, forkserver):
    wrong, log = run_schedule(seed, tmp_path, forkserver)
    assert not wrong, "\n".join([*wrong, "", *log])


@pytest.mark.parametrize("seed", seeds(QUICK_ROUNDS, ALL))
def test_every_report_counts_exactly_once_in_postgresql(seed, tmp_path, forkserver, postgres):
    """The same schedules on the other engine; what must be in the totals is the same."""
    wrong, log = run_schedule(seed, tmp_path, forkserver, store=postgres.fresh())
    assert not wrong, "\n".join([*wrong, "", *log])


@pytest.mark.parametrize("seed", seeds(2, ALL_ROUNDS))
def test_every_report_of_every_round_counts_exactly_once_in_postgresql(
    seed, tmp_path, forkserver, postgres
):
    wrong, log = run_schedule(seed, tmp_path, forkserver, rounds=True, store=postgres.fresh())
    assert not wrong, "\n".join([*wrong, "", *log])


@pytest.mark.parametrize("seed", seeds(QUICK_ROUNDS, ALL_ROUNDS))
def test_every_report_of_every_round_counts_exactly_once(seed, tmp_path, forkserver):
    wrong, log = run_schedule(seed, tmp_path, forkserver, rounds=True)
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


KINDS_WITH_ROUNDS: dict[str, Callable[[Schedule], object]] = {
    "correlated noise": lambda plan: plan.setup.federation.task().correlates_noise,
    "no noise": lambda plan: plan.setup.federation.mechanism == "none",
    "screening": lambda plan: plan.setup.federation.screening,
    "two tasks": KINDS["two tasks"],
    "two workers": KINDS["two workers"],
    "estimates": KINDS["estimates"],
    "withdrawal": KINDS["withdrawal"],
    "a task that is stopped": KINDS["a task that is stopped"],
}


@pytest.mark.parametrize("kind", KINDS_WITH_ROUNDS)
def test_the_schedules_with_rounds_are_of_every_kind(kind):
    plans = [schedule(seed, rounds=True) for seed in range(ALL_ROUNDS)]
    hits = [seed for seed, plan in enumerate(plans) if KINDS_WITH_ROUNDS[kind](plan)]
    assert min(hits) < QUICK_ROUNDS
    assert len(hits) >= ALL_ROUNDS // 20


@pytest.mark.parametrize("kind", ["debian", "shipped"])
def test_acknowledged_messages_that_the_broker_loses_are_counted_in_the_end(
    kind, tmp_path, forkserver
):
    """The broker queues for the aggregator, acknowledges every report, and is killed unsaved."""
    federation = Federation(devices=8, stock=2, records=2)
    world = World(Setup(federation=federation, broker=kind), tmp_path, forkserver, 1)
    try:
        world.wait_for_task()
        world.wait_for_answers()
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
        kept = "the broker has kept what it was killed with: this test tests nothing"
        assert world.counted() == 0, kept
        assert world.finish() == []
        assert world.counted() == len(world.devices)
    finally:
        world.close()


def test_a_queue_that_overflows_in_silence_loses_nothing(tmp_path, forkserver):
    """mosquitto tells publishers that all is well while it drops what exceeds its queue."""
    setup = Setup(
        federation=Federation(devices=6, stock=1, records=1),
        more=("max_queued_messages 2", "max_inflight_messages 1"),
    )
    world = World(setup, tmp_path, forkserver, 1)
    try:
        world.wait_for_task()
        world.wait_for_answers()
        world.stop_aggregator()
        for device in world.devices:
            device.appetite = 1
        world.turn(1.0)
        assert world.finish() == []
        assert world.counted() == 6
    finally:
        world.close()


@pytest.mark.parametrize(
    ("version", "reason"), [(1, "did not make"), (2, "another copy of this device's state")]
)
@pytest.mark.parametrize("throttle", [0, 2], ids=["quick", "slow"])
def test_a_card_that_was_restored_behind_its_report_gets_no_second_one_out(
    throttle, version, reason, tmp_path, forkserver, monkeypatch
):
    """A state directory from before the report, put back after it: the receipt gives it away.

    Under a task of version 2 by the number in it; before, by the report. On a link of two bytes at
    a time the receipt comes from the broker long after the subscription was confirmed, and still
    before the task.
    """
    for module, name in (
        (gate, "UNHEARD_SECONDS"),
        (connection, "WELCOME_SECONDS"),
        (connection, "KEEPALIVE_SECONDS"),
    ):
        monkeypatch.setattr(module, name, 60)
    federation = Federation(devices=2, stock=2, records=2, mechanism="gaussian", version=version)
    world = World(Setup(federation=federation), tmp_path, forkserver, 1)
    try:
        world.wait_for_task()
        device = world.devices[0]
        device.appetite = 1
        world.turn(0.1)
        device.checkpoint()
        device.crash()
        card = tmp_path / device.name / "agent.sqlite"
        saved = card.read_bytes()
        assert world.finish() == []
        card.write_bytes(saved)
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
        assert reason in device.agent.reason
        assert device.sent["one-hot"] == before
    finally:
        world.close()
