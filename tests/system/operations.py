"""Random schedules: what happens to a federation, one thing after the other, all of it decided by a seed."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from pathlib import Path

from fsir.messages import topic
from tests.system import points
from tests.system.device import Device
from tests.system.forkserver import ForkServer
from tests.system.one_hot import Federation
from tests.system.proxy import Proxy, Weather
from tests.system.world import Setup, World

DAY = 86400.0
Operation = Callable[[World, random.Random], str]


def _device(world: World, rng: random.Random) -> Device:
    return rng.choice(world.devices)


def _side(world: World, rng: random.Random) -> tuple[str, Proxy]:
    return rng.choice((("devices", world.near), ("aggregator", world.far)))


def _some(world: World, rng: random.Random) -> list[Device]:
    return sorted(rng.sample(world.devices, rng.randint(1, len(world.devices))), key=lambda device: device.number)


def _names(devices: list[Device]) -> str:
    return ", ".join(device.name for device in devices)


def learn(world: World, rng: random.Random) -> str:
    """Devices read a few records."""
    chosen, count = _some(world, rng), rng.randint(1, 2)
    for device in chosen:
        device.appetite += count
    return f"{count} records for {_names(chosen)}"


def checkpoint(world: World, rng: random.Random) -> str:
    chosen = _some(world, rng)
    for device in chosen:
        device.checkpoint()
    return _names(chosen)


def crash_devices(world: World, rng: random.Random) -> str:
    chosen = _some(world, rng)
    for device in chosen:
        device.crash()
    return _names(chosen)


def boot_devices(world: World, rng: random.Random) -> str:
    chosen = _some(world, rng)
    for device in chosen:
        device.start()
    return _names(chosen)


def arm_devices(world: World, rng: random.Random) -> str:
    """A crash at a named point."""
    chosen, point, times = _some(world, rng), rng.choice(list(points.AGENT)), rng.choice((1, 1, 2))
    for device in chosen:
        device.start()
        device.arm(point, times)
    return f"{_names(chosen)} will crash: {point}, time {times}"


def fill_disk(world: World, rng: random.Random) -> str:
    device, full = _device(world, rng), rng.random() < 0.6
    device.fill_disk(full)
    return f"{device.name}: {'full' if full else 'room'}"


def set_clock(world: World, rng: random.Random) -> str:
    device = _device(world, rng)
    device.offset = rng.choice((-400 * DAY, -60.0, 0.0, 60.0, 400 * DAY))
    return f"{device.name}: {device.offset:+.0f} s"


def cut(world: World, rng: random.Random) -> str:
    (name, proxy), share = _side(world, rng), rng.choice((0.3, 1.0))
    proxy.cut(share)
    return f"{share:.0%} of the {name}"


def weather(world: World, rng: random.Random) -> str:
    name, proxy = _side(world, rng)
    proxy.weather = rng.choice(
        (Weather(silent=True), Weather(delay=0.05), Weather(throttle=7), Weather(garble=0.2), Weather(), Weather())
    )
    return f"{name}: {proxy.weather}"


def kill_broker(world: World, rng: random.Random) -> str:
    """Everything that it has not saved is gone, acknowledged or not."""
    away = rng.choice((0.0, 0.1))
    world.broker.kill()
    world.turn(away)
    world.broker.restart()
    return f"away for {away} s"


def restart_broker(world: World, rng: random.Random) -> str:
    world.broker.restart()
    return "cleanly"


def kill_aggregator(world: World, rng: random.Random) -> str:
    how = rng.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGTERM))
    world.stop_aggregator(how)
    return how.name


def start_aggregator(world: World, rng: random.Random) -> str:
    clock = rng.choice((0.0, 0.0, -400 * DAY, 400 * DAY))
    world.start_aggregator(clock)
    return f"clock {clock:+.0f} s"


def arm_aggregator(world: World, rng: random.Random) -> str:
    """A crash at a named point."""
    point, times = rng.choice(points.AGGREGATOR), rng.choice((1, 1, 2))
    world.stop_aggregator()
    world.start_aggregator(kill=(point, times))
    return f"will crash: {point}, time {times}"


def repeat_old_report(world: World, rng: random.Random) -> str:
    """What was sent once comes again, from a broker's memory or from somebody who listens."""
    device = _device(world, rng)
    old = [raw for sent in device.sent.values() for raw in sorted(sent)]
    if old and world.stranger.up:
        world.stranger.publish(topic("one-hot", "report", device.name), rng.choice(old))
    return f"{device.name}, of {len(old)}"


def garbage(world: World, rng: random.Random) -> str:
    """What is no report, or somebody else's, after the device's own.

    Before it, the receipt of a refused stranger stops a device for good: a report that it does not know of has left
    under its name, so its budget may be spent. The broker's access list keeps strangers out.
    """
    device, other = _device(world, rng), _device(world, rng)
    foreign = [raw for stage, sent in other.sent.items() if stage in device.sent for raw in sorted(sent)]
    if world.stranger.up and device.sent:
        payload = rng.choice([rng.randbytes(40), *(foreign if other is not device else [])])
        world.stranger.publish(topic("one-hot", "report", device.name), payload)
    return f"on the topic of {device.name}"


OPERATIONS: dict[Operation, int] = {
    learn: 14, checkpoint: 2, crash_devices: 7, boot_devices: 7, arm_devices: 5, fill_disk: 2, set_clock: 1, cut: 3,
    weather: 5, kill_broker: 2, restart_broker: 1, kill_aggregator: 2, start_aggregator: 3, arm_aggregator: 3,
    repeat_old_report: 2, garbage: 1,
}  # fmt: skip


def random_setup(rng: random.Random, broken: str | None = None) -> Setup:
    """A federation of any kind."""
    records = rng.randint(1, 6)
    screening = rng.choice(("", "", "same", "fresh"))
    replayable = rng.random() < 0.75
    stock = records * (2 if screening == "fresh" else 1) * (1 if replayable else 3)
    federation = Federation(
        rng.randint(2, 5), stock, records, screening, "none" if rng.random() < 0.7 else "gaussian",
        rng.choice((0.0, 0.0, 0.2)),
    )  # fmt: skip
    return Setup(federation, rng.choice(("debian", "debian", "shipped")), replayable, broken)


def run_schedule(seed: int, directory: Path, server: ForkServer) -> tuple[list[str], list[str]]:
    """Run the schedule of a seed: what is wrong at the end, and everything that happened."""
    rng = random.Random(seed)
    setup = random_setup(rng)
    world = World(setup, directory, server, seed)
    for device in world.devices:
        device.habit = rng.choice((0, 1, 2))
    log = [f"seed {seed}: {setup}"]
    try:
        if rng.random() < 0.7:  # most begin while all is well, the others in the middle of it
            world.wait_for_task()
        for _ in range(rng.randint(6, 20)):
            (operation,) = rng.choices(list(OPERATIONS), list(OPERATIONS.values()))
            log.append(f"{operation.__name__}: {operation(world, rng)}")
            world.turn(rng.choice((0.0, 0.02, 0.05, 0.1)))
        return world.finish(), log
    finally:
        world.close()
