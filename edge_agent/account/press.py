"""The button: what the owner is doing, into the label file.

It works while the agent runs, and while it does not.
"""

from __future__ import annotations

import math
from contextlib import closing
from pathlib import Path

from edge_agent.errors import SourceError
from edge_agent.exchange.inbox import read_task
from edge_agent.labels import file as label_file
from edge_agent.labels.timeline import (
    EXPIRES_SECONDS,
    LASTS_SECONDS,
    LONGEST_LABEL,
    NO_LABEL,
    Event,
)
from edge_agent.sources.paced import seconds_of
from edge_agent.state.database import FILE
from edge_agent.state.state import State
from fsir.errors import shown

AHEAD_SECONDS = 60.0  # by which a time may lie in the future: clocks differ


def press(directory: Path, label: str, now: float) -> Event:
    """From now on the owner is doing this; without a label: it is not known from here on."""
    if label != NO_LABEL:
        check_label(label, known_labels(directory))
    event = event_of(label, now)
    label_file.append(directory, event)
    return event


def known_labels(directory: Path) -> set[str] | None:
    """The labels that some task of this device knows.

    None before the first task, when any may turn out to be one.
    """
    if directory.is_dir() and not (directory / FILE).exists():
        # Made for an agent that has not run yet: a recording is labelled before it is read.
        return None
    with closing(State(directory, None, read_only=True)) as state:
        tasks = [read_task(pin.raw, pin.name) for pin in state.pins()]
    return {name for task in tasks for name in task.response.classes} if tasks else None


def check_label(label: str, known: set[str] | None) -> None:
    """Refuse what no task knows."""
    if known is not None and label not in known:
        names = ", ".join(sorted(known)) or "none: no task with classes has been accepted"
        raise SourceError(
            f"label {shown(label)}: no task of this device knows it; known are {names}"
        )
    if not label.strip() or len(label) > LONGEST_LABEL or not label.isprintable():
        raise SourceError(
            f"label {shown(label)}: give a text of at most {LONGEST_LABEL} characters, "
            "one of the task's classes"
        )


def event_of(
    label: str,
    now: float,
    since: float = 0.0,
    at: str | None = None,
    lasts: float | None = None,
) -> Event:
    """The event of a press at `now` about a time `since` seconds ago, or `at`."""
    flag = f"--since {since}" if at is None else f"--at {at}"
    start = _start(flag, now, since, at)
    if lasts is not None and not 0 < lasts <= LASTS_SECONDS:
        raise SourceError(
            f"--for {lasts}: give a number of seconds above 0 "
            f"and at most {LASTS_SECONDS:.0f} (30 days)"
        )
    # A forgotten press expires half an hour after the press, wherever it began.
    until = now + EXPIRES_SECONDS if lasts is None else start + lasts
    if until - start > LASTS_SECONDS + EXPIRES_SECONDS:
        raise SourceError(
            f"{flag}: that is more than 30 days ago; say how long it lasted with --for SECONDS"
        )
    return Event(start, label, until)


def _start(flag: str, now: float, since: float, at: str | None) -> float:
    start = now - since if at is None else seconds_of(at)
    if start is None or not 0 <= start < math.inf:
        form = (
            "how many seconds ago"
            if at is None
            else "seconds since the epoch, or a time such as 2026-05-01T12:30:00"
        )
        raise SourceError(f"{flag}: give {form}, not before 1970")
    if not start <= now + AHEAD_SECONDS:
        raise SourceError(
            f"{flag}: the label would begin {start - now:.0f} seconds from now: press when it does"
        )
    return start
