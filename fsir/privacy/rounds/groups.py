"""What several records tell together: the promise is about a unit, and groups of them cost more.

A group that has `a_t` records in round t moves the release by at most `|B^-1 a|` times what a
record moves its block, if no coefficient of `B^-1` is larger than the one before or below zero:
most if the group fills whole blocks one after the other from the first one on. A window of W rounds
has others, and with it a group moves the release by at most `sqrt(W) |a|` (docs/privacy.md, theorem
13 e).
"""

from __future__ import annotations

import math

import numpy as np

from fsir.arrays import Matrix
from fsir.privacy.plan import Stage, final_stage, report_size
from fsir.task.task import Task


def group_cost(task: Task, records: int, rounds: int | None = None) -> float:
    """The cost `mu` of the final reports, up to this round, for any group of so many records."""
    n = report_size(task)
    T = task.rounds if rounds is None else rounds
    full, rest = divmod(min(records, n * T), n)
    allocations = []
    for place in range(full + 1 if rest else 1):
        counts = np.zeros(T)
        counts[: full + bool(rest)] = n
        if rest:
            counts[place] = rest
        allocations.append(counts)
    return max(_cost(task, counts) for counts in allocations)


def habit_cost(task: Task, rounds: int | None = None) -> float:
    """The cost for one record in each round up to this one: what somebody does every time."""
    return _cost(task, np.ones(task.rounds if rounds is None else rounds))


def _cost(task: Task, counts: Matrix) -> float:
    """The most that so many records in each round cost."""
    stage = _final(task)
    column = np.asarray(stage.factorisation.inverse[: len(counts)])
    per_record = stage.mu / task.privacy.unit_records / stage.factorisation.norm
    window = task.memory.span if task.memory.memory == "window" else None
    if window is None or window >= len(column):
        moved = np.convolve(column, counts)[: len(counts)]
        return per_record * float(np.linalg.norm(moved))
    one_by_one = float(np.linalg.norm(column) * counts.sum())
    together = float(math.sqrt(window) * np.linalg.norm(counts))
    return per_record * min(one_by_one, together)


def _final(task: Task) -> Stage:
    limit = task.p if task.screening is None else task.screening.limit
    return final_stage(task, tuple(range(limit)))
