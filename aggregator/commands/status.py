"""`fsir-aggregator status`: how far each task is."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from typing import Any

from aggregator.commands.stored import add_json, add_store, opened
from aggregator.overview.overview import overview
from aggregator.overview.text import lines
from aggregator.overview.words import time_text
from fsir.errors import FsirError

WATCH_SECONDS = 2.0  # between two looks
LEAST_SECONDS = 0.2
MOST_SECONDS = 86400.0
# What terminals of all kinds understand (ECMA-48).
_HOME = "\x1b[H"
_CLEAR_LINE = "\x1b[K"  # from here to its end
_CLEAR_BELOW = "\x1b[J"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--recount, and which store."""
    parser.add_argument(
        "--recount", action="store_true", help="also add all stored reports up again and compare"
    )
    parser.add_argument(
        "--watch",
        nargs="?",
        type=float,
        const=WATCH_SECONDS,
        metavar="SECONDS",
        help=f"again and again, until Ctrl-C (every {WATCH_SECONDS:g} s)",
    )
    add_store(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """How far each task is."""
    if args.watch is None:
        print(_shown(args))
        return 0
    if not LEAST_SECONDS <= args.watch <= MOST_SECONDS:
        raise FsirError(
            f"--watch {args.watch:g}: must be at least {LEAST_SECONDS} seconds, and at most a day"
        )
    with contextlib.suppress(KeyboardInterrupt):
        _watch(args)
    return 0


def _watch(args: argparse.Namespace) -> None:
    """On a terminal always in the same place; elsewhere one block after the other."""
    redraws = sys.stdout.isatty() and not args.json
    while True:
        text = _shown(args)
        if redraws:
            about = f"{time_text(time.time())}, every {args.watch:g} s; Ctrl-C ends"
            text = _redrawn(f"{about}\n{text}")
        elif not args.json:
            text += "\n"
        print(text, flush=True)
        time.sleep(args.watch)


def _redrawn(text: str) -> str:
    """Text over what was there: without clearing the screen first, which would flicker."""
    lines = (line + _CLEAR_LINE for line in text.split("\n"))
    return _HOME + "\n".join(lines) + _CLEAR_BELOW


def _shown(args: argparse.Namespace) -> str:
    entries = _entries(args)
    return json.dumps({"tasks": entries}) if args.json else _text(entries)


def _entries(args: argparse.Namespace) -> list[dict[str, Any]]:
    now = time.time()
    # A snapshot: while `serve` counts on, reports and totals must be those of one moment.
    with opened(args) as (store, federations), store.snapshot() as still:
        return [overview(still, each, now, recount=args.recount) for each in federations]


def _text(entries: list[dict[str, Any]]) -> str:
    if not entries:
        return "no task has been served from this store yet"
    return "\n".join(line for entry in entries for line in lines(entry))
