"""Tasks for the tests of the core: a small valid one, and whatever a test changes about it."""

from __future__ import annotations

from typing import Any

from fsir.contract import task_from_table
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
