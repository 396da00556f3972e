"""One simulated federation, end to end: a broker, the real aggregator daemon, a fleet that runs the real agent code."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from edge_agent.agent import Agent, Phase
from edge_agent.consent.policy import Policy
from edge_agent.state.state import State
from fsir.errors import FsirError
from fsir.privacy.noise import SeededNoise
from fsir.task.task import MECHANISMS, Task
from fsir.toml import to_toml
from fsir.wire.decode import decode
from fsir.wire.messages import Subspace, topic
from sim_devices.datasets.population import DeviceStream, Population
from sim_devices.network.broker import Broker
from sim_devices.network.fleet import Faults, Fleet, VirtualDevice
from sim_devices.network.link import Link

if TYPE_CHECKING:
    from collections.abc import Iterator

# A simulated device agrees to whatever its user asked for on the command line; a real one has its owner's policy.
WILLING = Policy(epsilon=1e6, unproven=MECHANISMS, largest_clip=1e9)
PATIENCE = 300.0  # seconds


class FederationError(FsirError):
    """A federation that did not come to its end, with what is known about why."""


@dataclass(frozen=True)
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
    patience: float = PATIENCE,
) -> Outcome:
    """Run it to the end: every device that came has its receipt, and the subspace counts them all."""
    start = time.monotonic()
    with Broker() as server, tempfile.TemporaryDirectory(prefix="fsir-sim-") as directory:
        url = server.start(broker)
        # Every new subspace goes to every device, and here all of them share one processor.
        debounce = max(0.5, len(population.devices) / 100)
        with _aggregator(task, url, Path(directory), debounce) as daemon:
            devices = [
                VirtualDevice(stream, _agent_maker(stream, task.name, seed), url)
                for stream in population.devices
            ]
            fleet = Fleet(devices, faults or Faults(), seed)
            observer = _Observer(url, task, fleet)
            try:
                done = fleet.run(
                    observer.finished, patience, lambda count: progress(count, len(fleet.devices))
                )
            finally:
                fleet.close()
                observer.close()
            if not done or observer.subspace is None:
                raise FederationError(_why(fleet, observer, daemon, Path(directory), patience))
            came = fleet.devices
            return Outcome(
                task=task,
                subspace=observer.subspace,
                devices=len(came),
                stopped=sum(device.agent.phase == Phase.STOPPED for device in came),
                bytes_per_device=sum(device.bytes_sent for device in came) / len(came),
                retries=sum(device.messages_sent - len(device.reports) for device in came),
                cuts=sum(device.cuts for device in came),
                crashes=sum(device.crashes for device in came),
                seconds=time.monotonic() - start,
                broker=server.kind,
            )


def _agent_maker(stream: DeviceStream, name: str, seed: int) -> Callable[[], Agent]:
    """Agents of one device over one state, which survives the crash of an agent as a disk does."""
    state = State(None, stream.device, simulated=True)
    noise = SeededNoise(seed, stream.device)
    return lambda: Agent(state, name, WILLING, noise=noise, simulated=True)


@contextmanager
def _aggregator(
    task: Task, url: str, directory: Path, debounce: float
) -> Iterator[subprocess.Popen[bytes]]:
    """The daemon as users run it, in a process of its own."""
    (directory / "task.toml").write_text(to_toml(task.table()), encoding="utf-8")
    command = [sys.executable, "-m", "aggregator", "serve", "--task", str(directory / "task.toml")]
    command += [
        "--broker",
        url,
        "--store",
        f"sqlite:{directory / 'store.db'}",
        "--debounce",
        str(debounce),
    ]
    with (directory / "aggregator.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class _Observer:
    """Reads the subspace as any device may, and tells when it counts everybody."""

    def __init__(self, url: str, task: Task, fleet: Fleet) -> None:
        self._link = Link(url, "sim-observer", [topic(task.name, "subspace")])
        self._fleet = fleet
        self.subspace: Subspace | None = None
        self._ask_at = time.monotonic() + 5.0
        if not self._link.open():
            raise FederationError(
                f"no broker answers at {url}; start one, or use --broker embedded"
            )

    def finished(self) -> bool:
        if self._link.socket is not None:
            self._link.readable()
        self._link.maintain()
        while self._link.inbox:
            message = decode(self._link.inbox.popleft()[1], Subspace)
            assert isinstance(message, Subspace)
            self.subspace = message
        if not all(device.done for device in self._fleet.devices):
            return False
        counted = sum(device.agent.phase == Phase.SERVING for device in self._fleet.devices)
        if counted == 0 or (self.subspace is not None and self.subspace.devices >= counted):
            return True
        if (
            time.monotonic() >= self._ask_at and self._link.ready
        ):  # the message may have been lost on the way
            self._ask_at = time.monotonic() + 5.0
            self._link.subscribe()
        return False

    def close(self) -> None:
        self._link.close()


def _why(
    fleet: Fleet,
    observer: _Observer,
    daemon: subprocess.Popen[bytes],
    directory: Path,
    patience: float,
) -> str:
    phases: dict[str, int] = {}
    for device in fleet.devices:
        phases[device.agent.phase] = phases.get(device.agent.phase, 0) + 1
    reason = next((device.agent.reason for device in fleet.devices if device.agent.reason), "")
    log = (
        (directory / "aggregator.log")
        .read_text(encoding="utf-8", errors="replace")
        .splitlines()[-8:]
    )
    counted = 0 if observer.subspace is None else observer.subspace.devices
    ended = (
        "" if daemon.poll() is None else f"; the aggregator ended with status {daemon.returncode}"
    )
    lines = [
        f"the federation did not end within {patience:.0f} s: {counted} counted, devices are {phases}{ended}"
    ]
    return "\n".join([*lines, *([reason] if reason else []), "last words of the aggregator:", *log])
