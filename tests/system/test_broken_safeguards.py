"""The harness sees what it is for: each safeguard, broken on purpose, is found out; and unbroken, nothing is.

Every test runs the same short schedule twice.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.system import points, safeguards
from tests.system.one_hot import Federation
from tests.system.world import Setup, World

pytestmark = [pytest.mark.broker, pytest.mark.usefixtures("short_delays")]
ON_THE_AGGREGATOR = ("no dedupe", "answer before commit")
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


CASES: dict[str, tuple[Callable[[World], None], str, str]] = {
    "no dedupe": (lost_receipts, "none", "is 2, not 1"),
    "answer before commit": (crash_after_the_answer, "none", "was not counted"),
    "fresh noise on retry": (crash_before_the_receipt, "gaussian", "different final reports"),
    "position not committed": (crash_after_a_checkpoint, "none", "is 2, not 1"),
}


def outcome(name: str, broken: bool, tmp_path, forkserver) -> list[str]:
    schedule, mechanism, _ = CASES[name]
    on_aggregator = name if broken and name in ON_THE_AGGREGATOR else None
    federation = Federation(3, 4, 4, mechanism=mechanism)
    world = World(Setup(federation, broken=on_aggregator), tmp_path, forkserver, 1)
    try:
        world.wait_for_task()
        schedule(world)
        return world.finish()
    finally:
        world.close()


@pytest.mark.parametrize("name", CASES)
def test_a_broken_safeguard_is_found_out(name, tmp_path, forkserver, monkeypatch):
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
