"""A look at the state of a device: all that the page shows except for what is live."""

from __future__ import annotations

import math
import os
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edge_agent.account.tasks import Entry, task_entries
from edge_agent.consent.admission import cost_of
from edge_agent.consent.policy import Policy
from edge_agent.consent.running import running_epsilons
from edge_agent.exchange.inbox import read_task
from edge_agent.labels.tail import Tail
from edge_agent.labels.timeline import Event
from edge_agent.page.pace import Pace
from edge_agent.state.database import FILE
from edge_agent.state.rows import LedgerRow
from edge_agent.state.state import State
from fsir.privacy.describe import describe, reports
from fsir.task.task import Task


@dataclass(frozen=True, kw_only=True)
class Release:
    """One release, and by how much it raised the total."""

    row: LedgerRow
    raised: float  # infinite where nothing is proven


@dataclass(frozen=True, kw_only=True)
class Look:
    """What a state file says."""

    device: str
    broker: str | None
    entries: list[Entry]
    tasks: dict[str, Task]
    reports: dict[str, list[str]]  # what leaves for each task
    words: dict[str, str]  # all that each task asks for
    releases: list[Release]
    epsilon: float  # of all of them together
    leaves: dict[str, float]  # when a report that waits may leave, at the earliest, by task

    @property
    def labels(self) -> list[str]:
        """The labels that some task knows, in the order of the tasks."""
        known = (label for task in self.tasks.values() for label in task.response.classes)
        return list(dict.fromkeys(known))


@dataclass
class Watch:
    """Looks again when the state has changed, and sees how fast records come in."""

    directory: Path
    policy: Policy
    _mark: Any = None
    _look: Look | None = None
    _paces: dict[str, Pace] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._labels = Tail(self.directory)

    def look(self, now: float) -> Look:
        """The latest; a `FsirError` says why there is none."""
        # A file beside the state releases a report that is held: then the folder has changed.
        mark = (_mark_of(self.directory / FILE), _mark_of(self.directory))
        if self._look is None or mark != self._mark:
            self._look = read(self.directory, self.policy.delta)
            self._mark = mark
        for entry in self._look.entries:
            if entry.get("of"):
                self.pace(entry["task"]).see(entry["records"], now)
        return self._look

    def pace(self, task: str) -> Pace:
        """How fast the records of a task come in."""
        return self._paces.setdefault(task, Pace())

    def label(self, now: float) -> Event | None:
        """The label that holds now."""
        self._labels.refresh()
        return self._labels.timeline.at(now)


def _mark_of(path: Path) -> tuple[int, ...]:
    """Changes with the file."""
    with suppress(OSError):
        status = os.stat(path)
        return status.st_ino, status.st_size, status.st_mtime_ns
    return ()


def read(directory: Path, delta: float) -> Look:
    """Look at a state file, whether or not its agent runs."""
    with closing(State(directory, None, read_only=True)) as state:
        tasks = {pin.name: read_task(pin.raw, pin.name) for pin in state.pins()}
        rows = state.ledger()
        # Costs do not simply add up: each release is told by what it added to those before.
        totals = [0.0, *running_epsilons(map(cost_of, rows), delta)]
        return Look(
            device=state.device,
            broker=state.broker(),
            entries=task_entries(state),
            tasks=tasks,
            reports={name: reports(task) for name, task in tasks.items()},
            words={name: describe(task) for name, task in tasks.items()},
            releases=[
                Release(row=row, raised=math.inf if after == math.inf else after - before)
                for row, before, after in zip(rows, totals[:-1], totals[1:], strict=True)
            ],
            epsilon=totals[-1],
            leaves={row.task: row.not_before for row in state.outbox()},
        )
