"""What two aggregators of a task are told to do, and what they have said so far."""

from __future__ import annotations

import math
from typing import Any

from edge_agent.account.words import json_number
from edge_agent.exchange.answers import in_words
from edge_agent.exchange.inbox import read_task
from edge_agent.state.state import State
from fsir.privacy.claims import promises
from fsir.privacy.describe import rounded_up
from fsir.task.secure import ROLES
from fsir.task.task import Task

Entry = dict[str, Any]


def sharing_entry(state: State, task: Task) -> Entry:
    """Who they are, what is promised, and who has answered; nothing where there is one."""
    if task.secure is None:
        return {}
    waiting = [in_words(task.secure, state.answers(row.report)) for row in state.outbox(task.name)]
    return {
        "aggregators": {role: task.secure.party(role).name for role in ROLES},
        "cohort": task.secure.cohort,
        "promises": promise_entries(task),
        "awaited": waiting,
    }


def promise_entries(task: Task) -> list[Entry]:
    """Each promise of a task in plain values."""
    return [{"against": one.against, "epsilon": json_number(one.epsilon)} for one in promises(task)]


def shared_tasks(state: State) -> dict[str, list[Entry]]:
    """The promises of the tasks with two aggregators that this device has accepted, by name.

    The ledger books what a task costs if one of them is honest. What it costs if both collude
    stands in the task, and is known for as long as the task is pinned.
    """
    tasks = [read_task(pin.raw, pin.name) for pin in state.pins()]
    return {task.name: promise_entries(task) for task in tasks if task.secure is not None}


def promise_lines(entries: list[Entry]) -> list[str]:
    """The promises in words.

    >>> promise_lines([{"against": "the broker and the network", "epsilon": 0.0}])
    ['epsilon 0 against the broker and the network']
    """
    return [f"{_epsilon(one['epsilon'])} against {one['against']}" for one in entries]


def _epsilon(value: float | None) -> str:
    return "no bound" if value is None or value == math.inf else f"epsilon {rounded_up(value)}"
