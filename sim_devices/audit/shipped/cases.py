"""What an agent is tried on: small tasks and streams, so that it runs in milliseconds.

Every way in which an agent makes a report is here: one stage and two, the same records and fresh
ones, dense reports and votes, a response code, a public map without and with its check, units of
several records, records that come one by one and all at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import hadamard

from fsir.contract import task_from_table
from fsir.privacy.accounting import mu_of
from fsir.task.public_map import pack
from fsir.task.task import Task
from sim_devices.audit.shipped import canary
from sim_devices.audit.shipped.canary import Streams

# A claim (epsilon, delta) at which a black box sees a fault of a factor of sqrt(2) in a few hundred
# runs.
LOOSE = (4.0, 0.05)
_RECORDS = 8


@dataclass(frozen=True, eq=False, kw_only=True)
class Case:
    """One task with two streams, and how the records reach the agent."""

    name: str
    task: Task
    streams: Streams
    one_by_one: bool = False
    effort: float = 1.0  # runs, as a part of those of a small task


def small_task(p: int = 4, H: int = 2, *, unit: int = 1, **changes: Any) -> Task:
    """A task of p features and H classes; `clip` and `screening` as in a task file."""
    epsilon, delta = changes.pop("budget", LOOSE)
    table = {
        "name": "audit",
        "features": {"names": [f"x{j}" for j in range(p)]},
        "response": {"classes": [str(h) for h in range(H)]},
        "clip": {"truncate": 1.0, "norm": p**0.5},
        "privacy": {"epsilon": epsilon, "delta": delta, "unit_records": unit},
        "report": {"records": _RECORDS},
    }
    return task_from_table(table | changes)


def _of(name: str, streams: Callable[[Task], Streams], task: Task, **how: Any) -> Case:
    return Case(name=name, task=task, streams=streams(task), **how)


_CLIP = {"truncate": 1.0, "norm": 1.5}  # below the corner of the truncation: both of them bind
_TWO = {"final_norm": 1.2, "limit": 4, "keep": 1, "share": 0.4}
VOTES = {
    "method": "votes",
    "select": "majority",
    "threshold": 0.1,  # between the means of a slice with the canary and without it
    "final_norm": 2.0,
    "limit": 4,
    "keep": 1,
}


def one_stage() -> Case:
    """The canary that theorem 1 allows."""
    return _of("canary", canary.orthogonal, small_task())


def units() -> Case:
    """Three records that are protected together."""
    return _of("unit of 3", canary.orthogonal, small_task(unit=3))


def empty_slice() -> Case:
    """A slice gets its first record."""
    return _of("slice 0 -> 1", canary.first_of_slice, small_task(H=3))


def long_records(*, one_by_one: bool) -> Case:
    """Records beyond truncation and clip."""
    name = "beyond the clip, " + ("one by one" if one_by_one else "at once")
    task = small_task(H=3, clip=_CLIP)
    return _of(name, canary.beyond_the_clip, task, one_by_one=one_by_one)


def half_step() -> Case:
    """Many numbers: sums at half a step, and second moments for the tails of the noise."""
    # Noise of a power of two, so that a step is as large as it gets: an eighth of the noise.
    clip = {"truncate": 1.0, "norm": 4.0 * 1.001 * mu_of(*LOOSE)}
    task = small_task(100, clip=clip)
    streams = canary.half_a_step(task)
    return Case(name="half a step", task=task, streams=streams, effort=0.8)


def two_stages(*, one_by_one: bool) -> Case:
    """Two reports about the same records, which the agent keeps in between."""
    name = "two stages, " + ("one by one" if one_by_one else "at once")
    task = small_task(6, 3, clip=_CLIP, screening=_TWO)
    return _of(name, canary.beyond_the_clip, task, one_by_one=one_by_one)


def fresh_records() -> Case:
    """Two reports about records of their own, the first with a response code."""
    screening = {**_TWO, "records": "fresh", "code": "simplex"}
    del screening["share"]
    task = small_task(6, 3, clip=_CLIP, screening=screening)
    return _of("two stages, fresh and coded", canary.beyond_the_clip, task)


def votes() -> Case:
    """A first report of votes, where one record would decide if they came from the data."""
    # A vote tells less than a number: it takes more of them.
    task = small_task(screening=VOTES)
    return _of("two stages, votes", canary.orthogonal, task, effort=2.5)


def mapped_task(
    budget: tuple[float, float] = LOOSE, norm: float = 1.0, check: float | None = None
) -> Task:
    """Eight features, four coordinates, centres farther out than the clip, and a split."""
    public = {
        "records": 100,
        "coordinates": 4,
        "centres": pack(1.5 * np.eye(3, 4)),
        "shares": [0.5, 0.25, 0.25],
        "map": pack(0.3 * hadamard(8)[:, :4]),
        **({} if check is None else {"check": check}),
    }
    epsilon, delta = budget
    privacy = {"epsilon": epsilon, "delta": delta, "split": 1.0}
    clip = {"truncate": 1.0, "norm": norm}
    return small_task(8, 3, clip=clip, public=public, privacy=privacy)


def public_map() -> Case:
    """Records that are mapped, each without the centre of its own slice."""
    return _of("public map", canary.mapped, mapped_task())


def public_check() -> Case:
    """Records with the check of the public rule, which is right about one of them, or wrong."""
    return _of("public check", canary.relabelled, mapped_task(norm=0.5, check=0.5))


def all_cases() -> list[Case]:
    """Everything, the most telling first."""
    return [
        two_stages(one_by_one=False),
        empty_slice(),
        long_records(one_by_one=True),
        long_records(one_by_one=False),
        half_step(),
        one_stage(),
        units(),
        public_map(),
        public_check(),
        votes(),
        two_stages(one_by_one=True),
        fresh_records(),
    ]
