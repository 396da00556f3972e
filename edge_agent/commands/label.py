"""`fsir-agent label active`: the button. It works while the agent runs, and while it does not."""

from __future__ import annotations

import argparse
import json
import math
import time
from contextlib import closing
from datetime import datetime
from pathlib import Path

from edge_agent.commands.options import add_json, add_state
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

PAGE = {
    "description": """\
Say what you are doing. The running agent labels the records of that time with it, until the next \
label or until it
expires. Nothing about it leaves the device: what is learned from it is reported with noise, like \
everything else.

  fsir-agent label active --state DIR              from now on
  fsir-agent label active --since 20 --state DIR   from 20 seconds ago; what is learned already \
stays
  fsir-agent label --clear --state DIR             from now on it is not known
"""
}
AHEAD_SECONDS = 60.0  # by which a time may lie in the future: clocks differ


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The label, and from when to when it holds."""
    parser.add_argument("label", nargs="?", metavar="LABEL", help="one of the classes of the task")
    parser.add_argument("--clear", action="store_true", help="from here on it is not known")
    begun = parser.add_mutually_exclusive_group()
    begun.add_argument(
        "--since", type=float, default=0.0, metavar="SECONDS", help="it began so many seconds ago"
    )
    begun.add_argument(
        "--at", metavar="TIME", help="it began at this time: ISO 8601, or seconds since the epoch"
    )
    parser.add_argument(
        "--for",
        type=float,
        dest="lasts",
        metavar="SECONDS",
        help="how long it lasts; without this it expires half an hour after the press",
    )
    add_state(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Say what the owner is doing, or that it is not known from here on."""
    now = time.time()
    if (args.label is None) != args.clear:
        raise SourceError("fsir-agent label: give either a label, for example active, or --clear")
    known = _classes(Path(args.state))
    if not args.clear:
        _check(args.label, known)
    event = event_of(NO_LABEL if args.clear else args.label, now, args.since, args.at, args.lasts)
    # Before anything is written: let it fail here.
    said = _json(event, known) if args.json else _words(event)
    label_file.append(Path(args.state), event)
    print(said)
    if known is None and not args.clear and not args.json:
        print("no task is known here yet: the label counts if the task that comes knows it")
    return 0


def _classes(directory: Path) -> set[str] | None:
    """The labels that some task of this device knows.

    None before the first task, when any may turn out to be one.
    """
    if directory.is_dir() and not (directory / FILE).exists():
        # Made for an agent that has not run yet: a recording is labelled before it is read.
        return None
    with closing(State(directory, None, read_only=True)) as state:
        tasks = [read_task(pin.raw, pin.name) for pin in state.pins()]
    return {name for task in tasks for name in task.response.classes} if tasks else None


def _check(label: str, known: set[str] | None) -> None:
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


def _json(event: Event, known: set[str] | None) -> str:
    about = {"label": event.label, "time": event.time, "until": event.until}
    return json.dumps({**about, "known": event.label in (known or ())})


def _words(event: Event) -> str:
    start = _clock_time(event.time)
    end = _clock_time(event.until)
    what = f"{event.label}, until {end} at the latest" if event.label else "not known"
    return f"from {start} on: {what}"


def _clock_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).strftime("%H:%M:%S")


def event_of(label: str, now: float, since: float, at: str | None, lasts: float | None) -> Event:
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
