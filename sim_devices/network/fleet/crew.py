"""Who plays the devices of a simulated federation: this process, or one for each core."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from edge_agent.agent import Agent
from edge_agent.consent.policy import Policy
from edge_agent.state.state import State
from fsir.limits import MAX_ROUNDS
from fsir.net.backoff import Delays
from fsir.net.broker import Broker
from fsir.privacy.noise import SeededNoise
from fsir.task.task import MECHANISMS, Task
from sim_devices.cores import cores
from sim_devices.datasets.filled import filled
from sim_devices.datasets.population import DeviceStream, Population
from sim_devices.meanwhile import may_fork
from sim_devices.network.fleet.device import VirtualDevice
from sim_devices.network.fleet.faults import Fate
from sim_devices.network.fleet.fleet import Fleet
from sim_devices.network.fleet.tally import Tally

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
DEVICES_EACH = 200  # that are worth another process
SLOWEST_PER_SECOND = 100  # devices that one machine simulates; who asks again sooner slows all down


class Crew(Protocol):
    """All devices that come, wherever they are played."""

    size: int

    @property
    def done(self) -> int:
        """How many have their answer, or take no part."""

    @property
    def accepted(self) -> int:
        """How many were counted; to be asked when all are done."""

    def run(
        self, finished: Callable[[], bool], seconds: float, progress: Callable[[int], None]
    ) -> bool:
        """Drive all devices until `finished`; False if that takes longer than `seconds`."""

    def close(self) -> None:
        """Let all devices say good-bye."""

    def tally(self) -> Tally:
        """What there is to tell of all of them, in the end."""


def crew_of(
    population: Population,
    task: Task,
    url: str,
    seed: int,
    fates: Mapping[int, Fate],
    workers: int | None = None,
) -> Crew:
    """The devices that come, played by as many processes as are worth it, or by so many."""
    broker = Broker.parse(url)
    delays = _delays(len(population.devices))

    def played(numbers: Sequence[int]) -> Fleet:
        """Some of them."""
        devices = [
            VirtualDevice(
                _offered(population.devices[number], task),
                _agent_maker(population.devices[number], task.name, seed, delays),
                broker,
                fates[number],
            )
            for number in numbers
        ]
        return Fleet(devices, of=len(fates))

    numbers = list(fates)
    workers = _worth(len(numbers)) if workers is None else workers
    if workers < 2:
        return played(numbers)
    # Here alone: a small federation does not wait for what this imports.
    from sim_devices.network.fleet.workers import Workers

    return Workers(played, [numbers[first::workers] for first in range(workers)])


def _worth(devices: int) -> int:
    """How many processes."""
    return min(cores(), devices // DEVICES_EACH) if may_fork() else 1


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
