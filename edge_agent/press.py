"""`fsir-agent label walking`: the button. It works while the agent runs, and while it does not."""

from __future__ import annotations

import argparse
import json
import math
import time
from contextlib import closing
from datetime import datetime
from pathlib import Path

from edge_agent import label_file
from edge_agent.errors import SourceError
from edge_agent.inbox import read_task
from edge_agent.labels import EXPIRES, NO_LABEL, Event
from edge_agent.sources.replay import seconds_of
from edge_agent.state import State

AHEAD = 60.0  # seconds by which a time may lie in the future: clocks differ


def label(args: argparse.Namespace) -> int:
    """Say what the owner is doing, or that it is not known from here on."""
    now = time.time()
    if (args.label is None) != args.clear:
        raise SourceError("fsir-agent label: give either a label, for example walking, or --clear")
    with closing(State(args.state, None, read_only=True)) as state:
        tasks = [read_task(pin.raw, pin.name) for pin in state.pins()]
    known = sorted({name for task in tasks for name in task.response.classes})
    if not args.clear and args.label not in known:
        names = ", ".join(known) or "none: no task with classes has been accepted yet"
        raise SourceError(f"label {args.label!r}: no task of this device knows it; known are {names}")
    event = event_of(NO_LABEL if args.clear else args.label, now, args.since, args.at, args.lasts)
    label_file.append(Path(args.state), event)
    if args.json:
        print(json.dumps({"label": event.label, "time": event.time, "until": event.until}))
    else:
        moments = [datetime.fromtimestamp(moment).strftime("%H:%M:%S") for moment in (event.time, event.until)]
        what = f"{event.label}, until {moments[1]} at the latest" if event.label else "not known"
        print(f"from {moments[0]} on: {what}")
    return 0


def event_of(label: str, now: float, since: float, at: str | None, lasts: float | None) -> Event:
    """The event of a press at `now` about a time `since` seconds ago, or `at`."""
    start = now - since if at is None else seconds_of(at)
    if start is None or not math.isfinite(start) or start < 0:
        raise SourceError(f"--at {at}: give seconds since the epoch, or a time such as 2026-05-01T12:30:00")
    if not start <= now + AHEAD:
        raise SourceError(f"the label would begin {start - now:.0f} seconds from now: press when it does")
    if lasts is not None and not 0 < lasts < math.inf:
        raise SourceError(f"--for {lasts}: give a number of seconds above 0")
    # A forgotten press expires half an hour after the press, wherever it began.
    return Event(start, label, now + EXPIRES if lasts is None else start + lasts)
