"""`fsir-agent label active`: the button. It works while the agent runs, and while it does not."""

from __future__ import annotations

import argparse
import json
import time
from datetime import datetime
from pathlib import Path

from edge_agent.account.press import check_label, event_of, known_labels
from edge_agent.commands.settings.options import add_json, add_state
from edge_agent.errors import SourceError
from edge_agent.labels import file as label_file
from edge_agent.labels.timeline import NO_LABEL, Event

PAGE = {
    "description": """\
Say what you are doing. The running agent labels the records of that time with it, until the next \
label or until it
expires. Nobody but you is told (your home with --output mqtt:): what is learned from it is \
reported with noise, like
everything else.

  fsir-agent label active --state DIR              from now on
  fsir-agent label active --since 20 --state DIR   from 20 seconds ago; what is learned already \
stays
  fsir-agent label --clear --state DIR             from now on it is not known
"""
}


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
    known = known_labels(Path(args.state))
    if not args.clear:
        check_label(args.label, known)
    event = event_of(NO_LABEL if args.clear else args.label, now, args.since, args.at, args.lasts)
    # Before anything is written: let it fail here.
    said = _json(event, known) if args.json else _words(event)
    label_file.append(Path(args.state), event)
    print(said)
    if known is None and not args.clear and not args.json:
        print("no task is known here yet: the label counts if the task that comes knows it")
    return 0


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
