"""Questions about rounds, each with its answer in closed form.

All records are zero but those of one unit, which lie on the clip and become their own negatives,
null, or records on the other side of a border: by theorem 1 nothing moves a block further.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fsir.privacy.plan import first_stage, report_size
from fsir.task.slicing import UNKNOWN
from fsir.task.task import Task
from sim_devices.audit.bounds.exact import of_shift
from sim_devices.audit.finding import Finding
from sim_devices.audit.pairs import Records
from sim_devices.audit.rounds.law import RoundsLaw, cost, law_of_rounds
from sim_devices.audit.shipped.cases import small_task

Asked = Callable[[Task, Records], RoundsLaw]
_N = 8  # records of a round
_CLAIM = (1.0, 1e-6)
MANY = 52
FEW = 4


@dataclass(frozen=True, eq=False, kw_only=True)
class Question:
    """A task, two streams of records, and what a device publishes about either."""

    name: str
    task: Task
    first: Records
    second: Records
    law: Asked
    violated: bool = False


def task_of(rounds: int, *, unit: int = 1, memory: str = "all", **privacy: Any) -> Task:
    """A small task of so many rounds; the memory is all of them, or one of 8 rounds."""
    epsilon, delta = _CLAIM
    span = {} if memory == "all" else {"span": 8}
    return small_task(
        report={"records": _N, "rounds": rounds},
        privacy={"epsilon": epsilon, "delta": delta, "unit_records": unit, **privacy},
        estimate={"memory": memory, **span},
    )


def records_of(task: Task) -> Records:
    """Records all over the clip, for all rounds of a task."""
    count = report_size(task) * task.rounds
    X = np.sin(np.arange(1.0, count * task.p + 1)).reshape(count, task.p)
    return Records(X, np.arange(count) % task.slicing.count)


def blocks_of(task: Task, records: Records) -> list[Records]:
    """The records of each round."""
    n = report_size(task)
    starts = range(0, len(records.X), n)
    return [Records(records.X[k : k + n], records.slices[k : k + n]) for k in starts]


def as_shipped(task: Task, records: Records) -> RoundsLaw:
    """All rounds, as a device makes them."""
    return law_of_rounds(task, first_stage(task), blocks_of(task, records))


def ask(question: Question) -> Finding:
    """The exact cost of a question, against the claim of its task and against its booked cost."""
    task = question.task
    mu = cost(question.law(task, question.first), question.law(task, question.second))
    booked = first_stage(task).mu
    faults = [] if mu <= booked else [f"the unit costs {mu:.6g}; {booked:.6g} is booked"]
    return Finding(
        mechanism="rounds",
        pair=question.name,
        epsilon=task.privacy.epsilon,
        delta=task.privacy.delta,
        bound=of_shift(mu, task.privacy.epsilon, task.privacy.delta),
        note=f"{mu / booked:.4g} of the booked cost",
        faults=tuple(faults),
    )


def questions() -> Iterator[Question]:
    """What is shipped."""
    two = task_of(2)
    for t in (0, 1):
        yield changed(f"2 rounds, replaced in round {t + 1}", two, t * _N)
        yield changed(f"2 rounds, nulled in round {t + 1}", two, t * _N, null=True)
    pair = task_of(2, unit=2)
    yield changed("2 rounds, a unit across the border", pair, _N - 1)
    yield _moved(pair)
    many = task_of(MANY)
    for t in (1, MANY // 2, MANY):
        yield changed(f"{MANY} rounds, replaced in round {t}", many, (t - 1) * _N)
    across = task_of(MANY, unit=2)
    yield changed(f"{MANY} rounds, a unit across the first border", across, _N - 1)
    yield changed(f"{MANY} rounds, every other one skipped", many, 0, law=_every_other)
    for memory in ("window", "decay"):
        yield changed(f"{MANY} rounds, {memory}", task_of(MANY, memory=memory), 0)
    yield changed("independent rounds", task_of(FEW, noise="independent"), _N)


def zeros_of(task: Task) -> Records:
    """Records at the centre, for all rounds of a task."""
    count = report_size(task) * task.rounds
    return Records(np.zeros((count, task.p)), np.arange(count) % task.slicing.count)


def _unit(task: Task, records: Records, start: int, x: float, h: int) -> Records:
    """The records with one unit of them at a corner of the clip, in slice h."""
    for k in range(start, start + task.privacy.unit_records):
        records = records.replaced(k, np.full(task.p, x), h)
    return records


def changed(
    name: str,
    task: Task,
    start: int,
    *,
    null: bool = False,
    zeros: Records | None = None,
    law: Asked = as_shipped,
    violated: bool = False,
) -> Question:
    """A unit turns around, or becomes null."""
    base = zeros_of(task) if zeros is None else zeros
    return Question(
        name=name,
        task=task,
        first=_unit(task, base, start, 1.0, 1),
        second=_unit(task, base, start, -1.0, UNKNOWN if null else 1),
        law=law,
        violated=violated,
    )


def _moved(task: Task) -> Question:
    """A record goes from the end of a round to the beginning of the next, and leaves null."""
    null = _unit(task, zeros_of(task), _N - 1, 0.0, UNKNOWN)
    x = np.ones(task.p)
    return Question(
        name="2 rounds, moved across the border",
        task=task,
        first=null.replaced(_N - 1, x, 1),
        second=null.replaced(_N, x, 1),
        law=as_shipped,
    )


def _every_other(task: Task, records: Records) -> RoundsLaw:
    return as_shipped(task, records).only(range(0, task.rounds, 2))
