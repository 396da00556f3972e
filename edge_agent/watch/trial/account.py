"""Everything that a trial has found, as plain values: for programs, and for the words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from edge_agent.watch.trial import problems
from edge_agent.watch.trial.features import FEWEST_ROWS, Shape, shape
from edge_agent.watch.trial.labels import clipped, public_rule, shares
from edge_agent.watch.trial.problems import Place
from edge_agent.watch.trial.seen import Seen
from fsir.errors import meant
from fsir.task.task import Task

WORST = 5  # features that are listed
AWAY = 0.5  # scales from the centre, from which on it is worth a word

Account = dict[str, Any]


def account(task: Task, seen: Seen, places: dict[int, Place]) -> Account:
    """What the records look like to the task, and what is wrong with them."""
    rows = seen.rows
    looks = shape(task, rows) if len(rows) >= FEWEST_ROWS else None
    labelled, slices = seen.labelled
    rule = public_rule(task, labelled, slices) if len(slices) else None
    told_rule = None if rule is None else vars(rule)
    found = [*problems.about_columns(seen), *problems.about_refused(seen, places)]
    wrong = [] if looks is None else list(problems.about_values(task, seen, looks))
    if wrong:  # then labels, and places, look wrong too
        rule = None
    elif looks is not None:
        wrong = list(problems.about_places(task, looks, rule))
    found += [*wrong, *problems.about_labels(task, seen, rule)]
    missing = seen.missing
    others = [name for name in seen.columns if name not in task.features.names]
    return {
        "records": seen.records,
        "usable": seen.usable,
        "columns": {
            "found": sum(name in seen.columns for name in task.features.names),
            "of": task.p,
            "missing": {name: meant(name, others) for name in missing},
        },
        "refused": _refused(seen, places),
        "features": None if looks is None else _features(looks),
        "clipped": clipped(task, labelled, slices) if len(slices) else None,
        "classes": _classes(task, shares(task, slices)),
        "public_rule": told_rule,
        "problems": found,
    }


def _refused(seen: Seen, places: dict[int, Place]) -> list[dict[str, Any]]:
    return [
        {
            "reason": one.refusal.reason,
            "column": one.refusal.column,
            "detail": str(one.refusal),
            "count": one.count,
            **vars(places[one.example.position.ordinal]),
        }
        for one in seen.refused.values()
    ]


def _features(looks: Shape) -> dict[str, Any]:
    return {
        "constant": _names(looks, np.flatnonzero(looks.constant)),
        "truncated": _worst(looks, looks.truncated),
        "far": _worst(looks, looks.far),
        "away": _away(looks),
    }


def _away(looks: Shape) -> dict[str, float]:
    distance = np.abs(looks.mean)
    return _worst(looks, np.where(distance < AWAY, 0.0, distance), looks.mean)


def _names(looks: Shape, which: Sequence[int] | np.ndarray[Any, Any]) -> list[str]:
    return [looks.names[j] for j in which]


def _worst(looks: Shape, by: Any, values: Any = None) -> dict[str, float]:
    """The few features with the largest values above 0."""
    shown = by if values is None else values
    order = np.argsort(-by, kind="stable")[:WORST].tolist()
    return {looks.names[j]: float(shown[j]) for j in order if by[j] > 0}


def _classes(task: Task, found: dict[str, float]) -> dict[str, dict[str, float | None]]:
    public = (None,) * task.slicing.count if task.public is None else task.public.shares
    return {
        label: {"share": share, "public": expected}
        for (label, share), expected in zip(found.items(), public, strict=True)
    }
