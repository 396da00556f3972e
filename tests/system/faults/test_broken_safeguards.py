"""The harness sees what it is for: each safeguard, broken on purpose, is found out; else nothing.

Every test runs the same short schedule twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from tests.system.faults import world as federation_world
from tests.system.faults.setup import Setup
from tests.system.faults.world import World
from tests.system.harness import points, safeguards
from tests.system.harness.one_hot import Federation

pytestmark = [pytest.mark.broker, pytest.mark.usefixtures("short_delays")]
ON_THE_AGGREGATOR = (
    "no dedupe",
    "answer before commit",
    "totals in memory",
    "withdrawn devices not barred",
)
ATTEMPTS = 5


def lost_receipts(world: World) -> None:
    """Every report is counted and no receipt arrives, so that all devices send again."""
    world.stop_aggregator()
    world.start_aggregator(kill=("acknowledged", 1))
    for device in world.devices:
        device.appetite = 10
    world.turn(0.6)
    world.start_aggregator()
    world.turn(0.3)


def crash_after_the_answer(world: World) -> None:
    """The aggregator ends right after its receipts have left."""
    world.stop_aggregator()
    world.start_aggregator(kill=("answered", 1))
    for device in world.devices:
        device.appetite = 10
    world.turn(0.6)


def crash_after_a_checkpoint(world: World) -> None:
    """A device ends half-way, after it has saved."""
    device = world.devices[0]
    device.appetite = 2
    world.turn(0.1)
    device.checkpoint()
    device.crash()
    device.start()


def crash_before_the_receipt(world: World) -> None:
    """A device has its report on the wire, ends, and sends it again in its next life."""
    device = world.devices[0]
    world.stop_aggregator()
    device.arm("report sent", 2)
    device.appetite = 10
    world.turn(1.0)
    device.start()
    world.turn(0.5)


def crash_between_two_tasks(world: World) -> None:
    """Both tasks have saved; one reports, with its position; the device ends before the other."""
    device = world.devices[0]
    device.appetite = 1
    world.turn(0.1)
    device.checkpoint()
    device.appetite = 1
    world.turn(0.2)
    device.crash()
    device.start()


def one_after_the_other(world: World) -> None:
    """The devices report in turn, so that the broker deals their reports out to both workers."""
    log = world.directory / "aggregator.log"
    deadline = time.monotonic() + 60
    while log.read_text().count("connected with") < world.setup.workers:
        assert time.monotonic() < deadline, "not all workers have connected"
        world.turn(0.05)
    for device in world.devices:
        device.appetite = 10
        deadline = time.monotonic() + 20
        while not device.settled and time.monotonic() < deadline:
            world.turn(0.02)


def withdrawn_before_its_report(world: World) -> None:
    """A device is taken out that has not said anything yet; then it does."""
    world.withdraw("one-hot", "device-0")
    for device in world.devices:
        device.appetite = 10
    world.turn(0.6)


PLAIN = Setup(federation=Federation(devices=3, stock=4, records=4))
NOISY = Setup(federation=Federation(devices=3, stock=4, records=4, mechanism="gaussian"))
TWO_WORKERS = Setup(federation=Federation(devices=6, stock=1, records=1), workers=2)
TWO_TASKS = Setup(
    federation=Federation(devices=2, stock=8, records=2),
    second=Federation(devices=2, stock=8, records=4, name="other"),
)


@dataclass(frozen=True)
class Case:
    """What happens to which federation, and how the books show that the safeguard was broken."""

    schedule: Callable[[World], None]
    setup: Setup
    sign: str


CASES = {
    "no dedupe": Case(lost_receipts, PLAIN, "is 2, not 1"),
    "answer before commit": Case(crash_after_the_answer, PLAIN, "was not counted"),
    "fresh noise on retry": Case(crash_before_the_receipt, NOISY, "different final reports"),
    "position not committed": Case(crash_after_a_checkpoint, PLAIN, "is 2, not 1"),
    "one position for all tasks": Case(
        crash_between_two_tasks, TWO_TASKS, "about 4 records from an interval of 5"
    ),
    "totals in memory": Case(one_after_the_other, TWO_WORKERS, "is 0, not 1"),
    "withdrawn devices not barred": Case(
        withdrawn_before_its_report,
        replace(PLAIN, victims=frozenset({0})),
        "its final report is still there",
    ),
}


def outcome(name: str, broken: bool, tmp_path, forkserver) -> list[str]:
    on_aggregator = name if broken and name in ON_THE_AGGREGATOR else None
    world = World(replace(CASES[name].setup, broken=on_aggregator), tmp_path, forkserver, 1)
    try:
        world.wait_for_task()
        CASES[name].schedule(world)
        return world.finish()
    finally:
        world.close()


@pytest.mark.parametrize("name", CASES)
def test_a_broken_safeguard_is_found_out(name, tmp_path, forkserver, monkeypatch):
    # A broken federation need not come to rest.
    monkeypatch.setattr(federation_world, "PATIENCE_SECONDS", 4.0)
    if name not in ON_THE_AGGREGATOR:
        safeguards.BROKEN[name](monkeypatch.setattr)
    # A kill may come before the broken step did its harm, on a busy machine: then the same schedule
    # is tried again.
    for attempt in range(ATTEMPTS):
        directory = tmp_path / str(attempt)
        directory.mkdir()
        wrong = outcome(name, True, directory, forkserver)
        if any(CASES[name].sign in line for line in wrong):
            return
    pytest.fail(f"{name}: broken, and not found out in {ATTEMPTS} runs")


@pytest.mark.parametrize("name", CASES)
def test_the_same_schedule_with_all_safeguards_is_clean(name, tmp_path, forkserver):
    assert outcome(name, False, tmp_path, forkserver) == []


def test_every_breakage_is_tried():
    assert set(CASES) == set(safeguards.BROKEN)
    assert set(points.AGGREGATOR_LOOP) == {"committed", "acknowledged", "answered"}
