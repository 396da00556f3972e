"""Mistakes that a device could make in its rounds, each of which the exact cost must show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fsir.privacy.plan import first_stage
from fsir.privacy.rounds.factorisation import factorisation_of
from fsir.task.task import Task
from sim_devices.audit.pairs import Records
from sim_devices.audit.rounds.law import RoundsLaw, law_of_rounds
from sim_devices.audit.rounds.questions import (
    FEW,
    MANY,
    Asked,
    Question,
    as_shipped,
    blocks_of,
    changed,
    task_of,
    zeros_of,
)


def mistakes() -> Iterator[Question]:
    """All of them: the claim must be refuted."""
    few = task_of(FEW)
    stretched = zeros_of(task_of(MANY))
    laws: dict[str, Asked] = {
        "round made twice": _made_twice,
        "norm forgotten": _without_norm,
        "one key for two editions": _one_key,
        "one label for two rounds": _one_label,
    }
    for name, law in laws.items():
        yield changed(name, few, 0, law=law, violated=True)
    yield changed(
        "beyond the horizon", few, 0, zeros=stretched, law=_beyond_the_horizon, violated=True
    )


def _made_twice(task: Task, records: Records) -> RoundsLaw:
    """The first round, again, from another key."""
    law = as_shipped(task, records)
    return law.also(law.only([0]))


def _without_norm(task: Task, records: Records) -> RoundsLaw:
    """Each round with the noise of a single report."""
    law = as_shipped(task, records)
    return replace(law, sd=law.sd / first_stage(task).factorisation.norm)


def _one_key(task: Task, records: Records) -> RoundsLaw:
    """A later edition of the task, about other records, from the key of the first."""
    return as_shipped(task, records).also(as_shipped(task, zeros_of(task)), same_normals=True)


def _one_label(task: Task, records: Records) -> RoundsLaw:
    """The second round with the normals of the first in the place of its own."""
    law = as_shipped(task, records)
    merged = np.delete(law.factor, 1, axis=1)
    merged[:, 0] += law.factor[:, 1]
    return replace(law, factor=merged)


def _beyond_the_horizon(task: Task, records: Records) -> RoundsLaw:
    """Rounds go on after the last one, with the noise that was meant for fewer."""
    longer = first_stage(task)._replace(factorisation=factorisation_of(task_of(MANY)))
    return law_of_rounds(task, longer, blocks_of(task, records))
