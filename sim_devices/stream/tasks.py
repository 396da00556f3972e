"""Tasks with rounds: what a public sample proposes for devices that report again and again."""

from __future__ import annotations

from dataclasses import replace

from fsir.contract import task_from_table
from fsir.proposal.constants import Expectation
from fsir.proposal.rounds import over_rounds
from fsir.task.task import Estimate, Task
from sim_devices.datasets.population import Population
from sim_devices.scenarios.proposed import PublicSample, with_sections
from sim_devices.scenarios.tasks import Setting, build


def with_rounds(
    task: Task, rounds: int, *, noise: str | None = None, memory: Estimate | None = None
) -> Task:
    """The same task with so many rounds."""
    return replace(
        task,
        report=task.report._replace(rounds=rounds if rounds > 1 else None),
        privacy=task.privacy._replace(noise=noise),
        estimate=memory,
    )


def proposed_for(
    population: Population, sample: PublicSample, setting: Setting, rounds: int
) -> Task:
    """The task that a public sample proposes for so many rounds of these devices.

    All rounds together have the noise per record that one report about more records would have:
    such a report is what the proposal is told to expect, and it affords more coordinates.
    """
    task = with_rounds(build(population, sample, setting), rounds)
    if rounds == 1:
        return task
    of_one = Expectation(
        devices=len(population.devices),
        records=task.report.records or 1,
        epsilon=task.privacy.epsilon,
        delta=task.privacy.delta,
        unit_records=task.privacy.unit_records,
        cohort=setting.cohort,
    )
    sections = sample.proposal(population.classes, over_rounds(of_one, rounds)).sections
    return task_from_table(with_sections(task.table(), sections))
