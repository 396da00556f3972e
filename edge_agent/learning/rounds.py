"""Which round of a task comes next, and when: a function of the task, the ledger and the clock.

What is in the records decides nothing here.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import NamedTuple

from edge_agent.state.made import Made, last_round
from fsir.privacy.plan import FINAL
from fsir.task.task import Task


class Turn(NamedTuple):
    """The next round: its number, and the time of day before which it is not made."""

    round: int
    opens: float


def next_turn(task: Task, made: Made, now: float) -> Turn | None:
    """The round that comes next at this time of day; None if there is none any more.

    One round follows the other, `every` so many seconds. With a `start` each has its own stretch of
    time: those that have passed are skipped, and none is made before its time. A clock that was set
    back waits until it has caught up.
    """
    last = last_round(made)
    every = task.report.every
    start = task.report.start
    number = last + 1
    opens = -math.inf
    if every is not None and start is not None:
        number = max(number, 1 + math.floor((now - start) / every))
        opens = start + (number - 1) * every
    elif every is not None and last:
        opens = made[FINAL].made + every
    return None if number > task.rounds else Turn(number, opens)


def ended(task: Task) -> str:
    """Why there is no next round, although not all of them were made."""
    report = task.report
    end = (report.start or 0) + task.rounds * (report.every or 0.0)
    moment = datetime.fromtimestamp(end, UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"the last of its {task.rounds} rounds ended at {moment}: there will be no report of it"
