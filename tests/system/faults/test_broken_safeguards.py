"""The harness sees what it is for: each safeguard, broken on purpose, is found out; and unbroken, nothing is.

Every test runs the same short schedule twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import pytest

import tests.system.faults.world
from tests.system.faults.world import Setup, World
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
    """Both tasks have saved; then one reports, with its position, and the device ends before the other saves again."""
    device = world.devices[0]
    device.appetite = 1
    world.turn(0.1)
    device.checkpoint()
    device.appetite = 1
    world.turn(0.2)
    device.crash()
    device.start()


def one_after_the_other(world: World) -> None:
    """The devices report in turn, so that the broker deals their reports out to both workers in turn."""
    deadline = time.monotonic() + 60
    while (world.directory / "aggregator.log").read_text().count(
        "connected with"
    ) < world.setup.workers:
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


PLAIN = Setup(Federation(3, 4, 4))
TWO = Setup(Federation(2, 8, 2), second=Federation(2, 8, 4, name="other"))
CASES: dict[str, tuple[Callable[[World], None], Setup, str]] = {
    "no dedupe": (lost_receipts, PLAIN, "is 2, not 1"),
    "answer before commit": (crash_after_the_answer, PLAIN, "was not counted"),
    "fresh noise on retry": (
        crash_before_the_receipt, Setup(Federation(3, 4, 4, mechanism="gaussian")), "different final reports",
    ),
    "position not committed": (crash_after_a_checkpoint, PLAIN, "is 2, not 1"),
    "one position for all tasks": (crash_between_two_tasks, TWO, "about 4 records from an interval of 5"),
    "totals in memory": (one_after_the_other, Setup(Federation(6, 1, 1), workers=2), "is 0, not 1"),
    "withdrawn devices not barred": (
        withdrawn_before_its_report, replace(PLAIN, victims=frozenset({0})), "its final report is still there",
    ),
}  # fmt: skip


def outcome(name: str, broken: bool, tmp_path, forkserver) -> list[str]:
    schedule, setup, _ = CASES[name]
    on_aggregator = name if broken and name in ON_THE_AGGREGATOR else None
    world = World(replace(setup, broken=on_aggregator), tmp_path, forkserver, 1)
    try:
        world.wait_for_task()
        schedule(world)
        return world.finish()
    finally:
        world.close()


@pytest.mark.parametrize("name", CASES)
def test_a_broken_safeguard_is_found_out(name, tmp_path, forkserver, monkeypatch):
    monkeypatch.setattr(
        tests.system.faults.world, "PATIENCE", 4.0
    )  # a broken federation need not come to rest
    if name not in ON_THE_AGGREGATOR:
        safeguards.BROKEN[name](monkeypatch.setattr)
    # A kill may come before the broken step did its harm, on a busy machine: then the same schedule is tried again.
    for attempt in range(ATTEMPTS):
        directory = tmp_path / str(attempt)
        directory.mkdir()
        if any(CASES[name][2] in line for line in outcome(name, True, directory, forkserver)):
            return
    pytest.fail(f"{name}: broken, and not found out in {ATTEMPTS} runs")


@pytest.mark.parametrize("name", CASES)
def test_the_same_schedule_with_all_safeguards_is_clean(name, tmp_path, forkserver):
    assert outcome(name, False, tmp_path, forkserver) == []


def test_every_breakage_is_tried():
    assert set(CASES) == set(safeguards.BROKEN)
    assert set(points.AGGREGATOR_LOOP) == {"committed", "acknowledged", "answered"}
