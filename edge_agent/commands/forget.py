"""`fsir-agent forget`: delete what was learned and not yet reported."""

from __future__ import annotations

import argparse
import json
from contextlib import closing
from pathlib import Path

from edge_agent.commands.settings.options import add_json, add_state
from edge_agent.errors import StateError
from edge_agent.labels import file as label_file
from edge_agent.state.state import State


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--task and --unpin."""
    parser.add_argument("--task", metavar="NAME", help="only of this task")
    parser.add_argument("--unpin", action="store_true", help="also let another task take the name")
    add_state(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Delete what was learned and not reported, recognition included.

    Labels go too, unless one task is named.
    """
    state = State(args.state, None)
    with closing(state):
        names = [pin.name for pin in state.pins()] if args.task is None else [args.task]
        for name in names:
            if state.pinned(name) is None:
                raise StateError(f"there is no task {name!r} in this state")
            state.forget(name, unpin=args.unpin)
        if args.task is None:
            label_file.forget(Path(args.state))
    if args.json:
        print(json.dumps({"device": state.device, "forgotten": names}))
    else:
        print(f"forgotten: what was learned for {', '.join(names) or 'no task'}. The ledger stays.")
    return 0
