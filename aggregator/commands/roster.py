"""`fsir-aggregator roster`: who is expected to report, and whose report is missing."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from aggregator.commands.stored import add_json, add_store, only, opened
from aggregator.enrolment.names import Enrolled, enrolled
from aggregator.enrolment.nearest import meant
from aggregator.overview.devices import roster
from aggregator.overview.tables import print_table
from fsir.errors import FsirError

PAGE = {
    "description": """\
The names of the devices that are expected to report. With them `status`, the metrics and `roster \
list --missing` tell
who has not reported yet. A roster lets nobody in and keeps nobody out: the broker does that. \
Only the helper of two
aggregators refuses whoever is not on it, as long as there is one.
"""
}
_IMPORT = """\
Put devices on the roster of a task. FILE has one name on each line (# begins a comment), or is the
output of `deploy/provision list`, or the authority's folder or its index.txt; - is standard input.
Services, and certificates that were revoked or have expired, are left out. Names that are on the
roster already stay, and nothing is removed.
"""
_BOOK = "index.txt"  # of an authority
_FILTERS = {
    "missing": ("waiting", "silent"),
    "reported": ("reported",),
    "withdrawn": ("withdrawn",),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One parser for each action."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    raw = argparse.RawDescriptionHelpFormatter
    add = actions.add_parser(
        "import", help="put devices on it", description=_IMPORT, formatter_class=raw
    )
    add.add_argument("names", metavar="FILE", help="names, a book, or - for standard input")
    show = actions.add_parser("list", help="who is on it, and who has reported")
    which = show.add_mutually_exclusive_group()
    which.add_argument("--missing", action="store_true", help="only those who have not reported")
    which.add_argument("--reported", action="store_true", help="only those who have")
    which.add_argument("--withdrawn", action="store_true", help="only those who were taken out")
    remove = actions.add_parser("remove", help="take devices off it")
    remove.add_argument("devices", nargs="*", metavar="DEVICE")
    remove.add_argument("--all", action="store_true", help="all of them")
    for action in (add, show, remove):
        add_store(action)
        add_json(action)


def run(args: argparse.Namespace) -> int:
    """Do what the action says."""
    return {"import": _import, "list": _list, "remove": _remove}[args.action](args)


# --- import ---------------------------------------------------------------------------------------


def _import(args: argparse.Namespace) -> int:
    try:
        found = enrolled(_lines(args.names), time.time())
    except FsirError as error:
        raise FsirError(f"{args.names}: {error}") from None
    if not found.names and not found.left_out:
        raise FsirError(f"{args.names}: there is no name of a device in it; nothing was changed")
    with opened(args, update=True) as (store, federations):
        name = only(federations).name
        with store.transaction():
            new = store.enrol(name, found.names, time.time())
        size = store.roster_size(name)
    if args.json:
        answer = {"task": name, "roster": size, "new": new, "left_out": list(found.left_out)}
        print(json.dumps({**answer, "repeated": found.repeated}))
    else:
        _print_import(name, size, new, found)
    return 0


def _print_import(name: str, size: int, new: int, found: Enrolled) -> None:
    before = len(found.names) - new
    print(f"task {name}: {size} on the roster; {new} new, {before} were on it before")
    if found.left_out:
        print(f"  left out, revoked or expired: {', '.join(found.left_out)}")
    for device, numbers in found.repeated.items():
        print(f"  {device} is there {len(numbers)} times, on lines {', '.join(map(str, numbers))}")


def _lines(source: str) -> list[str]:
    """The lines of a file, of an authority's book, or of standard input."""
    if source == "-":
        return sys.stdin.read().split("\n")
    path = Path(source)
    path = path / _BOOK if path.is_dir() else path
    try:
        return path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise FsirError(
            f"{error}; give a file with one name on each line, or an authority's folder"
        ) from None


# --- list and remove ------------------------------------------------------------------------------


def _list(args: argparse.Namespace) -> int:
    asked = next((name for name in _FILTERS if getattr(args, name)), None)
    states = _FILTERS[asked] if asked else None
    with opened(args) as (store, federations):
        federation = only(federations)
        everybody = roster(store, federation)
    shown = [(device, state) for device, state in everybody if not states or state in states]
    if args.json:
        entries = [{"device": device, "state": state} for device, state in shown]
        answer = {"task": federation.name, "roster": len(everybody), "devices": entries}
        print(json.dumps(answer))
        return 0
    if not everybody:
        print(f"task {federation.name}: no roster yet; `roster import` makes one")
        return 0
    print_table(("device", "state"), shown)
    which = "" if asked is None else f" {asked}"
    print(f"{len(shown)}{which} of {len(everybody)} on the roster")
    return 0


def _remove(args: argparse.Namespace) -> int:
    if bool(args.devices) == args.all:
        raise FsirError("roster remove: give the names of devices, or --all")
    with opened(args, update=True) as (store, federations):
        name = only(federations).name
        with store.transaction():
            there = store.on_roster(name, -1)
            if strange := sorted(set(args.devices) - set(there)):
                raise FsirError(
                    f"{strange[0]!r} is not on the roster of task {name!r}"
                    f"{meant(strange[0], there)}; nothing was changed"
                )
            removed = store.strike(name, there if args.all else args.devices)
        size = store.roster_size(name)
    if args.json:
        print(json.dumps({"task": name, "roster": size, "removed": removed}))
    else:
        print(f"task {name}: {size} on the roster; {removed} taken off")
    return 0
