"""What somebody sees of one device whose report two aggregators share, with exact laws.

The task has one feature, and one record of the two data sets has the other sign: then a single
number of the report moves, by all that the budget pays for, and its law is that of whole numbers.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fsir.contract import task_from_table
from fsir.privacy.claims import epsilon_if_both_collude
from fsir.privacy.moments import Moments
from fsir.privacy.plan import Block, first_stage
from fsir.task.secure import PUBLIC_BYTES
from fsir.task.task import Task
from sim_devices.audit.finding import Finding
from sim_devices.audit.opened.integers import IntegerLaw, bound, rounded

COHORT = 20
_RECORDS = 9


@dataclass(frozen=True)
class Seen:
    """One number of a device: its exact sum, and the block that says how it is published."""

    exact: float
    block: Block
    cohort: int

    @property
    def published(self) -> IntegerLaw:
        """What the device shares."""
        return rounded(self.exact / self.block.step, self.own)

    @property
    def own(self) -> float:
        """Noise of a device, in steps."""
        return self.block.sd / self.block.worth

    @property
    def added(self) -> IntegerLaw:
        """What an honest aggregator adds."""
        return rounded(0.0, self.block.added / self.block.worth)


def one_honest(seen: Seen) -> IntegerLaw:
    """All others are hostile: they know everything but this report and the noise of one."""
    return seen.published.plus(seen.added)


def both_collude(seen: Seen) -> IntegerLaw:
    """Both aggregators put the two shares of this report together."""
    return seen.published


def opened_twice(seen: Seen) -> IntegerLaw:
    """An honest helper that opens the report again with fresh noise: the sum of what it says."""
    return seen.published.doubled().plus(seen.added).plus(seen.added)


def half_hostile(seen: Seen) -> IntegerLaw:
    """A helper that adds nothing and relies on other devices, of whom half are hostile."""
    law = seen.published
    for _ in range(seen.cohort // 2 - 1):
        law = law.plus(rounded(0.0, seen.own))
    return law


def sybils(seen: Seen) -> IntegerLaw:
    """A helper that adds nothing, and a cohort in which all other devices are hostile."""
    return seen.published


SHIPPED: dict[str, Callable[[Seen], IntegerLaw]] = {
    "one-honest": one_honest,
    "both-collude": both_collude,
}
MUST_FAIL: dict[str, Callable[[Seen], IntegerLaw]] = {
    "helper-silent": half_hostile,
    "opened-twice": opened_twice,
    "sybils": sybils,
}


def shared_task(p: int, epsilon: float, delta: float, cohort: int = COHORT) -> Task:
    """A task that two aggregators open; nobody holds its keys."""
    keys = {"leader": bytes([9]) * PUBLIC_BYTES, "helper": bytes([8]) * PUBLIC_BYTES}
    return task_from_table(table_of(p, epsilon, delta, cohort, keys))


def table_of(
    p: int, epsilon: float, delta: float, cohort: int, keys: dict[str, bytes]
) -> dict[str, object]:
    """The same as a table, with these public keys."""
    parties = {
        role: {"name": role, "key": base64.b64encode(key).decode()} for role, key in keys.items()
    }
    return {
        "name": "audit",
        "features": {"names": [f"x{j}" for j in range(p)]},
        "response": {"classes": ["0", "1"]},
        "clip": {"truncate": 1.0, "norm": p**0.5},
        "privacy": {"epsilon": epsilon, "delta": delta},
        "report": {"records": _RECORDS},
        "aggregation": "secure",
        "secure": {**parties, "cohort": cohort},
    }


def numbers_of(task: Task) -> tuple[Seen, Seen]:
    """The one number that differs, on both of two neighbouring data sets."""
    stage = first_stage(task)
    exact = []
    for sign in (1.0, -1.0):
        moments = Moments(task, stage)
        X = np.full((_RECORDS, 1), 0.3)
        X[0] = sign * task.clip.norm
        moments.learn_many(X, ["0"] * _RECORDS)
        exact.append(float(moments.sums()[0, 0]))
    first, second = (Seen(one, stage.sums, stage.cohort or 0) for one in exact)
    return first, second


def asked(name: str, epsilon: float, delta: float, cohort: int = COHORT) -> Finding:
    """The exact curve of what is seen, against what is promised."""
    task = shared_task(1, epsilon, delta, cohort)
    view = (SHIPPED | MUST_FAIL)[name]
    first, second = (view(seen) for seen in numbers_of(task))
    claimed = epsilon_if_both_collude(task) if name == "both-collude" else epsilon
    return Finding(
        mechanism=f"opened ({name})",
        pair="sign",
        epsilon=claimed,
        delta=delta,
        bound=bound(first, second, claimed, delta),
        note=_first_line(view),
        proven=name in SHIPPED,
    )


def _first_line(view: Callable[[Seen], IntegerLaw]) -> str:
    return (view.__doc__ or "").split("\n")[0].rstrip(".")
