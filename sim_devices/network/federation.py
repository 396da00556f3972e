"""One simulated federation, end to end:
a broker, the real aggregator daemon or two, and a fleet that runs the real agent code."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from edge_agent.agent import Agent, Phase
from edge_agent.consent.policy import Policy
from edge_agent.state.state import State
from fsir.limits import MAX_ROUNDS
from fsir.net.backoff import Delays
from fsir.net.broker import Broker
from fsir.privacy.noise import SeededNoise
from fsir.task.task import MECHANISMS, Task
from fsir.wire.messages import Subspace
from sim_devices.datasets.filled import filled
from sim_devices.datasets.population import DeviceStream, Population
from sim_devices.network.broker import LocalBroker
from sim_devices.network.daemons import Daemons, aggregators
from sim_devices.network.device import VirtualDevice
from sim_devices.network.fleet import Faults, Fleet, attendance
from sim_devices.network.observer import FederationError, Observer

# A simulated device agrees to whatever its user asked for on the command line, and has no owner who
# would look at a report that it holds; a real one has its owner's policy.
WILLING = Policy(
    epsilon=1e6,
    unproven=MECHANISMS,
    epsilon_if_both_collude=1e6,
    largest_clip=1e9,
    hold=False,
    rounds=MAX_ROUNDS,
)
PATIENCE_SECONDS = 300.0
SLOWEST_PER_SECOND = 100  # devices that one machine simulates; who asks again sooner slows all down


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came out of a federation."""

    task: Task
    subspace: Subspace
    devices: int  # that took part
    stopped: int  # of them, those whose report was refused
    bytes_per_device: float  # of all its reports, without retries
    retries: int
    cuts: int
    crashes: int
    seconds: float
    broker: str


def federate(
    population: Population,
    task: Task,
    *,
    broker: str = "auto",
    seed: int = 0,
    faults: Faults | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    patience: float = PATIENCE_SECONDS,
    cohort: int | None = None,
) -> Outcome:
    """Run it to the end: each device that came has its receipt, the subspace counts them all.

    With a `cohort` two aggregators open sums over at least so many devices, and fewer than that may
    be left at the end.
    """
    start = time.monotonic()
    with LocalBroker() as server, tempfile.TemporaryDirectory(prefix="fsir-sim-") as directory:
        url = server.start(broker)
        keys: dict[str, Path] = {}
        if cohort is not None:
            # Here alone: without them `cryptography` need not be there.
            from sim_devices.network.parties import Parties

            parties = Parties.new()
            task = parties.secured(task, cohort)
            keys = parties.write(Path(directory))
        faults = faults or Faults()
        options = _options(attendance(len(population.devices), faults, seed), server.kind)
        with aggregators(task, url, Path(directory), options, keys) as daemon:
            fleet = _fleet(population, task, url, seed, faults)
            subspace = _run(fleet, Observer(url, task, fleet), daemon, progress, patience)
            seconds = time.monotonic() - start
            return _outcome(fleet, task, subspace, seconds, server.kind)


def _fleet(population: Population, task: Task, url: str, seed: int, faults: Faults) -> Fleet:
    broker = Broker.parse(url)
    delays = _delays(len(population.devices))
    devices = [
        VirtualDevice(_offered(stream, task), _agent_maker(stream, task.name, seed, delays), broker)
        for stream in population.devices
    ]
    return Fleet(devices, faults, seed)


def _offered(stream: DeviceStream, task: Task) -> DeviceStream:
    """What the device meets: its records and, if the task asks for more, unlabelled windows."""
    records = (task.report.records or 0) * task.rounds
    return filled(stream, records) if task.counts_refused else stream


def _delays(devices: int) -> Delays:
    """When to ask again: a machine that plays all devices is slower, the more there are."""
    usual = Delays()
    first = max(usual.first, devices / SLOWEST_PER_SECOND)
    return Delays(first=first, longest=max(usual.longest, first))


def _agent_maker(stream: DeviceStream, name: str, seed: int, delays: Delays) -> Callable[[], Agent]:
    """Agents of one device over one state, which survives the crash of an agent as a disk does."""
    state = State(None, stream.device, simulated=True)
    noise = SeededNoise(seed, stream.device)
    return lambda: Agent(state, name, WILLING, noise=noise, simulated=True, delays=delays)


def _options(devices: int, broker: str) -> list[str]:
    # Every new subspace goes to every device, and here all of them share one processor: until all
    # have come there are few.
    options = ["--expect", str(devices), "--debounce", str(max(0.5, devices / 100))]
    # The embedded broker knows nothing newer, and takes two seconds to say so.
    return [*options, "--mqtt", "3.1.1"] if broker == "embedded" else options


def _run(
    fleet: Fleet,
    observer: Observer,
    daemon: Daemons,
    progress: Callable[[int, int], None],
    patience: float,
) -> Subspace:
    total = len(fleet.devices)

    def over() -> bool:
        """Whether all is done, or nobody is there any more to do it."""
        return observer.finished() or bool(daemon.ending())

    try:
        done = fleet.run(over, patience, lambda count: progress(count, total))
    finally:
        fleet.close()
        observer.close()
    if not done or observer.subspace is None or daemon.ending():
        raise FederationError(_why(fleet, observer, daemon, patience))
    return observer.subspace


def _outcome(fleet: Fleet, task: Task, subspace: Subspace, seconds: float, broker: str) -> Outcome:
    came = fleet.devices
    return Outcome(
        task=task,
        subspace=subspace,
        devices=len(came),
        stopped=sum(device.agent.phase == Phase.STOPPED for device in came),
        bytes_per_device=sum(device.bytes_sent for device in came) / len(came),
        retries=sum(device.messages_sent - len(device.reports) for device in came),
        cuts=sum(device.cuts for device in came),
        crashes=sum(device.crashes for device in came),
        seconds=seconds,
        broker=broker,
    )


def _why(fleet: Fleet, observer: Observer, daemon: Daemons, patience: float) -> str:
    phases = dict(Counter(device.agent.phase for device in fleet.devices))
    reasons = [device.agent.reason for device in fleet.devices if device.agent.reason]
    first = (
        f"the federation did not come to its end{daemon.ending() or f' within {patience:.0f} s'}: "
        f"{observer.counted} counted, devices are {phases}"
    )
    lines = [first, *reasons[:1], *daemon.last_words()]
    return "\n".join(lines)
