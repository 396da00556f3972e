"""What a task asks for before any of it is made: the releases, and what each costs."""

from __future__ import annotations

from math import ceil, inf

from edge_agent.consent.budget import Cost, numbers_in
from edge_agent.consent.groups import Group
from fsir.privacy.plan import FINAL, Stage, all_stages, report_size
from fsir.task.task import Task


def planned(task: Task, source: str = "", first: int = 0) -> list[Cost]:
    """The releases that a task asks for, if its records start at ordinal `first` of a source."""
    costs = planned_stages(task, source, first)
    if task.asks_for_fresh_records:  # disjoint records: the worst record is in one of the two
        worst = max(cost.mu for cost in costs)
        numbers = sum(cost.numbers for cost in costs)
        return [costs[-1]._replace(mu=worst, numbers=numbers)]
    return costs


def planned_stages(task: Task, source: str = "", first: int = 0) -> list[Cost]:
    """The same, stage by stage; rounds of new records are one cost."""
    return [
        Cost(
            mu=stage.mu,
            numbers=numbers_in(stage) * _touched(task, stage),
            source=source,
            first=first,
            last=inf,
            unit_records=task.privacy.unit_records,
            chain=task.digest if len(stage.factorisation.coefficients) > 1 else b"",
        )
        for stage in all_stages(task)
    ]


def _touched(task: Task, stage: Stage) -> int:
    """Reports of a stage that one unit can be in, where none has the numbers of all."""
    if stage.name != FINAL or task.correlates_noise:
        return 1
    return min(task.rounds, 1 + ceil((task.privacy.unit_records - 1) / report_size(task)))


def planned_groups(task: Task) -> list[Group]:
    """The same for groups of records."""
    costs = planned_stages(task)
    return [*(Group([cost]) for cost in costs[:-1]), Group(costs[-1:], task)]
