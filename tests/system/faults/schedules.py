"""Random schedules: a federation of any kind, and what happens to it, all decided by a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from pathlib import Path

from tests.system.faults.operations import OPERATIONS, Operation
from tests.system.faults.setup import Setup
from tests.system.faults.world import World
from tests.system.harness.forkserver import ForkServer
from tests.system.harness.one_hot import MOST_ROUNDS, Federation


def random_setup(rng: random.Random, broken: str | None = None, *, rounds: bool = False) -> Setup:
    """A federation of any kind; one in three has a second task, as many have a second worker."""
    devices = rng.randint(2, 4 if rounds else 5)
    two = rng.random() < 0.35
    # What may happen to some devices must leave others, and enough of them for an active set: one
    # is always safe.
    others = rng.sample(range(devices), devices - 1)
    victims = frozenset(others[: rng.choice((0, 0, 1, 2))])
    shy: frozenset[int] = frozenset()
    if two and rng.random() < 0.3:
        shy = frozenset(rng.sample(others, rng.randint(1, len(others))))
    replayable = rng.random() < 0.75
    mechanism = "none" if rng.random() < 0.7 else "gaussian"
    first = _federation(rng, devices, devices - len(victims), mechanism, replayable)
    if rounds:
        first = _in_rounds(rng, first)
    second = None
    if two:
        quorum = devices - len(victims | shy)
        second = _federation(rng, devices, quorum, mechanism, replayable)
        second = replace(second, name="other", secret=bool(shy))
    made = [first] if second is None else [first, second]
    shared = {"stock": sum(task.needed for task in made), "trace": any(task.votes for task in made)}
    return Setup(
        federation=replace(first, **shared),
        broker=rng.choice(("debian", "debian", "shipped")),
        replayable=replayable,
        broken=broken,
        second=None if second is None else replace(second, **shared),
        workers=2 if rng.random() < 0.35 else 1,
        victims=victims,
        shy=shy,
        debounce=rng.choice((None, 0.05)),
    )


def _in_rounds(rng: random.Random, federation: Federation) -> Federation:
    """The same with several rounds, which cannot be trimmed."""
    rounds = rng.randint(2, MOST_ROUNDS)
    records = min(federation.records, 3)
    return replace(federation, rounds=rounds, records=records, stock=records, trimmed=False)


def _federation(
    rng: random.Random, devices: int, quorum: int, mechanism: str, replayable: bool
) -> Federation:
    records = rng.randint(1, 6)
    screening = rng.choice(("", "", "same", "fresh"))
    # Devices with one class alone, or whose votes are all noise, have nothing to vote for.
    able = screening and mechanism == "none" and replayable and records > 1
    votes = bool(able) and rng.random() < 0.5
    trimmed = not votes and rng.random() < 0.3
    return Federation(
        devices=devices,
        stock=records,
        records=records,
        screening=screening,
        mechanism=mechanism,
        max_delay=rng.choice((0.0, 0.0, 0.2)),
        votes=votes,
        trimmed=trimmed,
        quorum=quorum,
    )


@dataclass(frozen=True)
class Schedule:
    """What a seed stands for."""

    setup: Setup
    habits: tuple[int, ...]  # of the devices: how often each saves by itself
    calm: bool  # whether it begins while all is well, or in the middle of it
    operations: tuple[Operation, ...]


def schedule(seed: int, *, rounds: bool = False) -> Schedule:
    """The schedule of a seed; there are as many others in which the first task has rounds."""
    rng = random.Random(f"rounds-{seed}" if rounds else seed)
    setup = random_setup(rng, rounds=rounds)
    habits = tuple(rng.choice((0, 1, 2)) for _ in range(setup.federation.devices))
    calm = rng.random() < 0.7
    count = rng.randint(6, 20)
    operations = rng.choices(list(OPERATIONS), list(OPERATIONS.values()), k=count)
    return Schedule(setup, habits, calm, tuple(operations))


def run_schedule(
    seed: int, directory: Path, server: ForkServer, *, rounds: bool = False, store: str = ""
) -> tuple[list[str], list[str]]:
    """Run the schedule of a seed: what is wrong at the end, and everything that happened."""
    plan = schedule(seed, rounds=rounds)
    world = World(replace(plan.setup, store=store), directory, server, seed)
    for device, habit in zip(world.devices, plan.habits, strict=True):
        device.habit = habit
    log = [f"seed {seed}: {plan.setup}"]
    try:
        if plan.calm:
            world.wait_for_task()
        for number, operation in enumerate(plan.operations):
            # Each has a generator of its own: how much one draws depends on what it meets, and
            # must not move the next.
            rng = random.Random(f"{seed}-{number}")
            log.append(f"{operation.__name__}: {operation(world, rng)}")
            world.turn(rng.choice((0.0, 0.02, 0.05, 0.1)))
        return world.finish(), log
    finally:
        world.close()
