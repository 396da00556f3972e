"""One cell: a budget, a number of devices and of records; run a few times with other noise.

What is told of a cell is its median run, which is a run that there was: accuracy, picture and page
are all about the same one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fsir.privacy.plan import first_stage
from fsir.task.task import Task
from fsir.wire.messages import Report, encode
from fsir.wire.shared import encode_shared
from sim_devices.datasets.population import DeviceStream, Population
from sim_devices.network.federation import Outcome
from sim_devices.scenarios.control import Measure
from sim_devices.scenarios.evaluation import accuracy, report_of, without_network
from sim_devices.scenarios.number_controls import explained
from sim_devices.scenarios.proposed import PublicSample
from sim_devices.scenarios.tasks import Setting, build, proposal_of
from sim_devices.scenarios.virtual_fleets import fleet_of

DRAWS = 5  # of noise and of who takes part; odd, so that one of them is the median
IN_PROCESS = "none: in one process"
_SEEDS_APART = 1000

Federate = Callable[[Population, Task, int], Outcome]


class Cell(NamedTuple):
    """What is varied."""

    epsilon: float
    devices: int
    records: int  # of each device, the first ones


@dataclass(frozen=True, eq=False, kw_only=True)
class Point:
    """What came out of a cell."""

    cell: Cell
    outcome: Outcome  # of the median run
    scores: tuple[float, ...]  # of all runs
    simulated: bool  # more devices than there are: the records of some are drawn again
    why: dict[str, str]  # what was chosen for the task, and for which reason

    @property
    def score(self) -> float:
        """That of the median run: share of unseen records named rightly, or R^2."""
        return sorted(self.scores)[len(self.scores) // 2]


@dataclass(frozen=True, eq=False, kw_only=True)
class Laboratory:
    """Runs cells of one table."""

    population: Population  # its devices have all of their records
    sample: PublicSample
    federate: Federate  # with the devices that there are
    draws: int
    delta: float = 1e-6
    unit_records: int = 1
    seed: int = 1
    # Of so many devices, how many two aggregators open together; None: there is one.
    cohort: Callable[[int], int | None] = lambda devices: None

    def run(self, cell: Cell) -> Point:
        """The cell, under a task that was made for it."""
        devices = [shortened(stream, cell.records) for stream in self.population.devices]
        simulated = cell.devices > len(devices)
        draws = DRAWS if simulated else self.draws
        seeds = [_SEEDS_APART * self.seed + draw for draw in range(draws)]
        fleets = [self._population(fleet_of(devices, cell.devices, seed)) for seed in seeds]
        setting = self._setting(cell)
        task = build(fleets[0], self.sample, setting)
        federate = self.alone if simulated else self.federate
        outcomes = [federate(fleet, task, seed) for fleet, seed in zip(fleets, seeds, strict=True)]
        scores = [measure_of(outcome)(self.population.unseen) for outcome in outcomes]
        median = int(np.argsort(scores, kind="stable")[draws // 2])
        return Point(
            cell=cell,
            outcome=outcomes[median],
            scores=tuple(scores),
            simulated=simulated,
            why=proposal_of(fleets[0], self.sample, setting).why,
        )

    def alone(self, population: Population, task: Task, seed: int) -> Outcome:
        """A federation in this process."""
        return in_process(population, task, seed, self.cohort(len(population.devices)))

    def _population(self, fleet: list[DeviceStream]) -> Population:
        return replace(self.population, devices=tuple(fleet))

    def _setting(self, cell: Cell) -> Setting:
        return Setting(
            epsilon=cell.epsilon,
            delta=self.delta,
            unit_records=self.unit_records,
            records=cell.records,
            cohort=self.cohort(cell.devices),
        )


def in_process(population: Population, task: Task, seed: int, cohort: int | None = None) -> Outcome:
    """The same sums, noise and estimate, without agents, broker and aggregator.

    With a `cohort` two aggregators open the sum of all, which are at least so many.
    """
    if cohort is not None:
        from sim_devices.network.parties import secured  # which needs `cryptography`

        task = secured(task, cohort)
    return Outcome(
        task=task,
        subspace=without_network(task, population.devices, seed),
        devices=len(population.devices),
        stopped=0,
        bytes_per_device=_report_bytes(task, population.devices[0], seed),
        retries=0,
        cuts=0,
        crashes=0,
        seconds=0.0,
        broker=IN_PROCESS,
    )


def _report_bytes(task: Task, stream: DeviceStream, seed: int) -> int:
    """How long the report of this device is."""
    stage = first_stage(task)
    made = report_of(task, stage, stream, task.report.records or len(stream), seed)
    if task.secure is not None:
        from fsir.secure.report import sealed_report

        return len(encode_shared(sealed_report(task, stage, stream.device, made)))
    report = Report(
        task=task.digest,
        device=stream.device,
        stage=stage.name,
        n=made.n,
        blocks=made.blocks,
    )
    return len(encode(report))


def measure_of(outcome: Outcome) -> Measure:
    """How a run is judged by those who took no part: the share that it names rightly, or R^2."""
    score = accuracy if outcome.task.response.classes else explained
    return lambda streams: score(outcome.task, outcome.subspace, streams)


def shortened(stream: DeviceStream, records: int) -> DeviceStream:
    """Its first records."""
    if len(stream) <= records:
        return stream
    return replace(stream, X=stream.X[:records], y=stream.y[:records])
