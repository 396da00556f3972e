"""What a task says about rounds, in plain words: when they come, and what they tell."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from fsir.privacy import accounting
from fsir.privacy.claims import statement
from fsir.privacy.plan import SCREENING, all_stages, report_size
from fsir.privacy.rounds.factorisation import factorisation_of
from fsir.privacy.rounds.groups import group_cost, habit_cost
from fsir.task.task import Task

GROUPS = (1, 10, 100)  # records
_UNITS = (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1))


def rounds_in_words(task: Task) -> list[str]:
    """How many rounds there are, when they come, and how their noise hangs together."""
    if task.rounds == 1:
        return []
    noise = _correlated(task) if task.correlates_noise else "Each round has new noise of its own."
    return [
        f"The final report comes again and again: {task.rounds} rounds, each about the next "
        f"{report_size(task)} records.",
        _when(task),
        noise,
    ]


def _correlated(task: Task) -> str:
    factorisation = factorisation_of(task)
    total = factorisation.norm * math.sqrt(factorisation.variance([1.0] * task.rounds))
    return (
        "Their noise is correlated: each round takes back part of the noise of those before it. "
        "The total of all has\n"
        f"  {total:.2g} times the noise of a single report (independent noise: "
        f"{math.sqrt(task.rounds):.2g} times). The device keeps a secret key\n"
        "  for that until the last round is made."
    )


def _when(task: Task) -> str:
    every = task.report.every
    if every is None:
        return "A round is made as soon as its records are there and the one before was answered."
    if task.report.start is None:
        return (
            f"A round is made {_duration(every)} after the one before or later, once its records "
            "are there and that one was answered."
        )
    start = datetime.fromtimestamp(task.report.start, UTC).isoformat()
    return (
        f"Round 1 begins at {start}, and each lasts {_duration(every)}; one whose time has passed "
        "is skipped."
    )


def _duration(seconds: float) -> str:
    """
    >>> _duration(86400), _duration(5400), _duration(0.5)
    ('1 day', '90 minutes', '0.5 seconds')
    """
    name, unit = next(((name, unit) for name, unit in _UNITS if seconds % unit == 0), ("second", 1))
    count = seconds / unit
    return f"{count:g} {name}" + ("" if count == 1 else "s")


def told_by_rounds(task: Task) -> list[str]:
    """What one round and all of them tell about some records together: a table."""
    if task.rounds == 1 or not statement(task).proven:
        return []
    rows = [(f"any {m} record{'s' if m > 1 else ''}", _group(task, m)) for m in GROUPS]
    rows.append(("a habit, 1 record in each round", _habit(task)))
    return [
        "No record costs more than that, for it is in one round alone (with correlated noise less "
        "at first: later rounds",
        "take noise back). More is told about several records together. Epsilon at delta "
        f"{task.privacy.delta:g}, of the Gaussian",
        "numbers as they were before rounding:",
        f"  {'':<32}{'one round':>12}{f'all {task.rounds} rounds':>18}",
        *(f"  {name:<32}{one:>12.3g}{every:>18.3g}" for name, (one, every) in rows),
    ]


def _group(task: Task, records: int) -> tuple[float, float]:
    one, every = (
        math.hypot(group_cost(task, records, rounds), records * _screening(task))
        for rounds in (1, task.rounds)
    )
    if task.asks_for_fresh_records:  # each record is in one of the two
        most = records * max(_screening(task), group_cost(task, 1))
        one, every = min(one, most), min(every, most)
    return _epsilon(task, one), _epsilon(task, every)


def _habit(task: Task) -> tuple[float, float]:
    one, every = (
        math.hypot(habit_cost(task, rounds), _screening(task)) for rounds in (1, task.rounds)
    )
    return _epsilon(task, one), _epsilon(task, every)


def _screening(task: Task) -> float:
    """The cost of one record in the first report, if there is one."""
    stages = [stage for stage in all_stages(task) if stage.name == SCREENING]
    return sum(stage.mu / task.privacy.unit_records for stage in stages)


def _epsilon(task: Task, mu: float) -> float:
    return accounting.epsilon_of(mu, task.privacy.delta)
