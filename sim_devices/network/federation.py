"""One simulated federation, end to end:
a broker, the real aggregator daemon or two, and a fleet that runs the real agent code."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from edge_agent.agent import Phase
from fsir.task.task import Task
from fsir.wire.messages import Subspace
from sim_devices.datasets.population import Population
from sim_devices.network.broker import LocalBroker
from sim_devices.network.daemons import Daemons, aggregators
from sim_devices.network.fleet.crew import Crew, crew_of
from sim_devices.network.fleet.faults import Faults, fates
from sim_devices.network.fleet.tally import Tally
from sim_devices.network.observer import FederationError, Observer

PATIENCE_SECONDS = 300.0


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
    seconds: float  # from the start of the broker until the subspace counts them all
    broker: str
    memory: int = 0  # largest resident sets of the processes that play devices, in kB


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
    workers: int | None = None,
) -> Outcome:
    """Run it to the end: each device that came has its receipt, the subspace counts them all.

    Many devices are played by several processes, or by as many `workers` as are asked for.

    With a `cohort` two aggregators open sums over at least so many devices, and fewer than that may
    be left at the end.
    """
    start = time.monotonic()
    with ExitStack() as stack:
        server = stack.enter_context(LocalBroker())
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="fsir-sim-"))
        url = server.start(broker)
        keys: dict[str, Path] = {}
        if cohort is not None:
            # Here alone: without them `cryptography` need not be there.
            from sim_devices.network.parties import Parties

            parties = Parties.new()
            task = parties.secured(task, cohort)
            keys = parties.write(Path(directory))
        come = fates(len(population.devices), faults or Faults(), seed)
        options = _options(len(come), server.kind)
        daemon = stack.enter_context(aggregators(task, url, Path(directory), options, keys))
        crew = crew_of(population, task, url, seed, come, workers)
        with closing(crew), closing(Observer(url, task, crew)) as observer:
            subspace = _run(crew, observer, daemon, progress, patience)
            seconds = time.monotonic() - start
        return _outcome(crew.tally(), task, subspace, seconds, server.kind)


def _options(devices: int, broker: str) -> list[str]:
    # Every new subspace goes to every device, and here all of them share one processor: until all
    # have come there are few.
    options = ["--expect", str(devices), "--debounce", str(max(0.5, devices / 100))]
    # The embedded broker knows nothing newer, and takes two seconds to say so.
    return [*options, "--mqtt", "3.1.1"] if broker == "embedded" else options


def _run(
    crew: Crew,
    observer: Observer,
    daemon: Daemons,
    progress: Callable[[int, int], None],
    patience: float,
) -> Subspace:
    def over() -> bool:
        """Whether all is done, or nobody is there any more to do it."""
        return observer.finished() or bool(daemon.ending())

    done = crew.run(over, patience, lambda count: progress(count, crew.size))
    if not done or observer.subspace is None or daemon.ending():
        counted = observer.counted
        crew.close()
        raise FederationError(_why(crew.tally(), counted, daemon, patience))
    return observer.subspace


def _outcome(tally: Tally, task: Task, subspace: Subspace, seconds: float, broker: str) -> Outcome:
    came = tally.phases.total()
    return Outcome(
        task=task,
        subspace=subspace,
        devices=came,
        stopped=tally.phases[Phase.STOPPED],
        bytes_per_device=tally.bytes_sent / came,
        retries=tally.retries,
        cuts=tally.cuts,
        crashes=tally.crashes,
        seconds=seconds,
        broker=broker,
        memory=tally.memory,
    )


def _why(tally: Tally, counted: int, daemon: Daemons, patience: float) -> str:
    first = (
        f"the federation did not come to its end{daemon.ending() or f' within {patience:.0f} s'}: "
        f"{counted} counted, devices are {dict(tally.phases)}"
    )
    lines = [first, *tally.reasons[:1], *daemon.last_words()]
    return "\n".join(lines)
