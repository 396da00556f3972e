"""What may happen to a federation; each draws its details from the seed, and says what it did."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable

from fsir.privacy.plan import FINAL
from fsir.wire.messages import STAGES, Receipt, Verdict, encode, topic
from tests.system.faults.device import Device
from tests.system.faults.world import World
from tests.system.harness import points
from tests.system.harness.books import place_of
from tests.system.harness.one_hot import Federation
from tests.system.harness.proxy import Proxy, Weather

DAY_SECONDS = 86400.0
Operation = Callable[[World, random.Random], str]


def _device(world: World, rng: random.Random) -> Device:
    return rng.choice(world.devices)


def _task(world: World, rng: random.Random) -> Federation:
    return rng.choice(world.setup.federations)


def _victim(world: World, rng: random.Random) -> Device | None:
    """One of those to whom the worst may happen: the others are enough for an active set."""
    chosen = sorted(world.setup.victims)
    return world.devices[rng.choice(chosen)] if chosen else None


def _place(world: World, rng: random.Random) -> int | None:
    """One of several aggregators, or all."""
    return rng.choice((None, *range(world.setup.workers)))


def _side(world: World, rng: random.Random) -> tuple[str, Proxy]:
    return rng.choice((("devices", world.near), ("aggregator", world.far)))


def _some(world: World, rng: random.Random) -> list[Device]:
    chosen = rng.sample(world.devices, rng.randint(1, len(world.devices)))
    return sorted(chosen, key=lambda device: device.number)


def _names(devices: list[Device]) -> str:
    return ", ".join(device.name for device in devices)


def learn(world: World, rng: random.Random) -> str:
    """Devices read a few records."""
    chosen = _some(world, rng)
    count = rng.randint(1, 2)
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
    chosen = _some(world, rng)
    point = rng.choice(list(points.AGENT))
    times = rng.choice((1, 1, 2))
    for device in chosen:
        device.start()
        device.arm(point, times)
    return f"{_names(chosen)} will crash: {point}, time {times}"


def fill_disk(world: World, rng: random.Random) -> str:
    device = _device(world, rng)
    full = rng.random() < 0.6
    device.fill_disk(full)
    return f"{device.name}: {'full' if full else 'room'}"


def set_clock(world: World, rng: random.Random) -> str:
    device = _device(world, rng)
    device.offset = rng.choice((-400 * DAY_SECONDS, -60.0, 0.0, 60.0, 400 * DAY_SECONDS))
    return f"{device.name}: {device.offset:+.0f} s"


def cut(world: World, rng: random.Random) -> str:
    name, proxy = _side(world, rng)
    share = rng.choice((0.3, 1.0))
    proxy.cut(share)
    return f"{share:.0%} of the {name}"


def weather(world: World, rng: random.Random) -> str:
    name, proxy = _side(world, rng)
    bad = (Weather(silent=True), Weather(delay=0.05), Weather(throttle=7), Weather(garble=0.2))
    proxy.weather = rng.choice((*bad, Weather(), Weather()))
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
    place = _place(world, rng)
    world.stop_aggregator(how, place)
    return f"{how.name}: {'all' if place is None else place}"


def start_aggregator(world: World, rng: random.Random) -> str:
    clock = rng.choice((0.0, 0.0, -400 * DAY_SECONDS, 400 * DAY_SECONDS))
    rename = rng.choice((0, 0, 1, 2))
    world.start_aggregator(clock, place=_place(world, rng), rename=rename)
    return f"clock {clock:+.0f} s, {'another' if rename else 'the same'} name"


def arm_aggregator(world: World, rng: random.Random) -> str:
    """A crash at a named point."""
    point = rng.choice(points.AGGREGATOR)
    times = rng.choice((1, 1, 2))
    place = _place(world, rng)
    world.stop_aggregator(place=place)
    world.start_aggregator(kill=(point, times), place=place)
    return f"{'all' if place is None else place} will crash: {point}, time {times}"


def repeat_old_report(world: World, rng: random.Random) -> str:
    """What was sent once comes again, from a broker's memory or from somebody who listens."""
    device = _device(world, rng)
    task = _task(world, rng)
    old = [raw for sent in device.sent[task.name].values() for raw in sorted(sent)]
    if old and world.stranger.up:
        world.stranger.publish(topic(task.name, "report", device.name), rng.choice(old))
    return f"{device.name}, of {len(old)} in {task.name}"


def garbage(world: World, rng: random.Random) -> str:
    """What is no report, or somebody else's, after the device's own.

    Before it, the receipt of a refused stranger stops a device for good: a report that it does not
    know of has left under its name, so its budget may be spent. The broker's access list keeps
    strangers out.
    """
    device = _device(world, rng)
    other = _device(world, rng)
    task = _task(world, rng)
    own = device.sent[task.name]
    made = {place_of(raw) for sent in own.values() for raw in sent}
    foreign = [
        raw
        for sent in other.sent[task.name].values()
        for raw in sorted(sent)
        if place_of(raw) in made
    ]
    if world.stranger.up and task.first in own:
        payload = rng.choice([rng.randbytes(40), *(foreign if other is not device else [])])
        world.stranger.publish(topic(task.name, "report", device.name), payload)
    return f"on the topic of {device.name} in {task.name}"


def withdraw(world: World, rng: random.Random) -> str:
    """`fsir-aggregator withdraw`, from one task or from all, at times killed before it commits."""
    device = _victim(world, rng)
    all_tasks = rng.random() < 0.5
    killed = rng.random() < 0.3
    if device is None:
        return "nobody"
    tasks = world.setup.federations if all_tasks else (_task(world, rng),)
    kill = ("totals written, not committed", 1) if killed else None
    return "; ".join(world.withdraw(task.name, device.name, kill) for task in tasks)


def forge_receipt(world: World, rng: random.Random) -> str:
    """A receipt for what a device has never sent.

    It takes no further part in this task, and goes on with the other.
    """
    device = _victim(world, rng)
    task = _task(world, rng)
    if device is None or not world.stranger.up:
        return "nobody"
    stage = rng.choice(STAGES)
    forged = Verdict(rng.randbytes(32), "counted")
    if stage == FINAL and task.rounds > 1:
        forged = forged._replace(round=rng.randint(1, task.rounds))
    verdicts = {stage: forged}
    raw = encode(Receipt(task.task().digest, device.name, verdicts))
    world.forged.add((task.name, device.name))
    world.stranger.publish(topic(task.name, "receipt", device.name), raw, retain=True)
    return f"for {device.name} in {task.name}"


# How often each happens, relative to the others.
OPERATIONS: dict[Operation, int] = {
    learn: 14,
    checkpoint: 2,
    crash_devices: 7,
    boot_devices: 7,
    arm_devices: 5,
    fill_disk: 2,
    set_clock: 1,
    cut: 3,
    weather: 5,
    kill_broker: 2,
    restart_broker: 1,
    kill_aggregator: 3,
    start_aggregator: 3,
    arm_aggregator: 3,
    repeat_old_report: 2,
    garbage: 1,
    withdraw: 4,
    forge_receipt: 2,
}
