"""What an owner never shares, by name: `never_share` of a policy, with `*` for any letters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from fsir.task.task import Task

_LABEL_NAMES = ("label", "y")  # what an owner may mean by whatever comes beside the values


def refusals(task: Task, never: Sequence[str]) -> list[str]:
    """Why a task asks for too much; empty if it does not."""
    held_back = _matching((*task.features.names, task.response.name), never)
    if not held_back:
        return []
    return [f"it asks for what the owner never shares: {', '.join(held_back[:5])}"]


def label_refusals(label: str | None, never: Sequence[str]) -> list[str]:
    """Why a source whose records bring labels of this name must not serve any task.

    Whatever a task calls its response, it would get these. None: the source does not say.
    """
    if not never or label == "":
        return []
    if label is None:
        return [
            "the owner never shares some things, and the source does not say what its labels "
            "are called: its class must have label, empty if its records bring none"
        ]
    held_back = _matching([label, *_LABEL_NAMES], never)
    if not held_back:
        return []
    return [
        f"its response would be the label of the source, which the owner never shares: "
        f"{', '.join(dict.fromkeys(held_back))}"
    ]


def _matching(names: Iterable[str], never: Sequence[str]) -> list[str]:
    return [name for name in names if any(fnmatchcase(name, pattern) for pattern in never)]
