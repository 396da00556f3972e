"""Tasks for the tests of the core: a small valid one, and whatever a test changes about it."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from fsir.contract import task_from_table
from fsir.task.public_map import pack
from fsir.task.task import Task


def table(p: int = 3, **changes: Any) -> dict[str, Any]:
    """A valid task of p features and three classes.

    A changed section is merged, and `None` removes a field.
    """
    base: dict[str, Any] = {
        "name": "test",
        "features": {"names": [f"x{j}" for j in range(p)]},
        "response": {"classes": ["a", "b", "c"]},
        "clip": {"truncate": 2.0, "norm": 0.95 * p**0.5},
        "privacy": {"epsilon": 1.0},
        "report": {"records": 100},
    }
    for key, value in changes.items():
        if isinstance(value, dict) and key in base:
            merged = {**base[key], **value}
            base[key] = {field: entry for field, entry in merged.items() if entry is not None}
        else:
            base[key] = value
    return base


def task(p: int = 3, **changes: Any) -> Task:
    """The task of `table`."""
    return task_from_table(table(p, **changes))


def screened(p: int = 6, **screening: Any) -> Task:
    """A task of two stages."""
    return task(p, screening={"keep": 2, "limit": min(4, p), "final_norm": 1.5, **screening})


def mapped(
    p: int = 6,
    q: int = 3,
    *,
    identity: bool = False,
    check: float | None = None,
    **changes: Any,
) -> Task:
    """A task with public centres of its three classes, a public map unless it is `identity`, and a
    check of the public rule if one is given."""
    rng = np.random.default_rng(p * 100 + q)
    P = np.eye(p) if identity else rng.normal(size=(p, q))
    public = {
        "records": 300,
        "coordinates": P.shape[1],
        "centres": pack(rng.uniform(-0.4, 0.4, size=(3, p)) @ P),
        "shares": [0.5, 0.25, 0.25],
        **({} if identity else {"map": pack(P)}),
        **({} if check is None else {"check": check}),
    }
    return task(p, **{"clip": {"norm": 1.5 * P.shape[1] ** 0.5}, "public": public, **changes})


def party(name: str, byte: int) -> dict[str, str]:
    """An aggregator with a key that nobody holds."""
    return {"name": name, "key": base64.b64encode(bytes([byte]) * 64).decode()}


def shared_table(
    p: int = 3, *, cohort: int = 20, groups: int = 1, **changes: Any
) -> dict[str, Any]:
    """A task that two aggregators open together."""
    secure = {
        "leader": party("hospital", 9),
        "helper": party("university", 8),
        "cohort": cohort,
        "groups": groups,
    }
    return table(p, **{"aggregation": "secure", "secure": secure, **changes})


def shared(p: int = 3, **changes: Any) -> Task:
    """The task of `shared_table`."""
    return task_from_table(shared_table(p, **changes))
