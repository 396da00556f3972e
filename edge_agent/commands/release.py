"""`fsir-agent release`: send a report that is held, whether or not the agent runs."""

from __future__ import annotations

import argparse
import json
from contextlib import closing

from edge_agent.commands.settings.options import add_json, add_state
from edge_agent.state.state import State

PAGE = {
    "description": """\
Send a report that the agent holds back, because its records are plainly not what the task \
expects. `fsir-agent status`
says why. Look at the source first: the task gets one report of this device, whatever is in it. A \
running agent sends it
within seconds, another one when it is started.

To mend the source and begin anew instead: stop the agent, then `fsir-agent rewind --source` for \
a file, or
`fsir-agent forget --task NAME`.
"""
}
_AFTER = "A running agent sends it within seconds, another one when it is started."
_MEANWHILE = (
    "The agent that holds it sends it within seconds, if it still runs; what it has learned goes "
    "with it, because another run may bring the same records again."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The task, and --state."""
    parser.add_argument("task", metavar="NAME", help="the task whose report is held")
    add_state(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Ask the agent to let the report go."""
    with closing(State(args.state, None, read_only=True)) as state:
        hold = state.holds.request(args.task)
        device = state.device
        lasts = state.lasts(args.task)
    if args.json:
        print(json.dumps({"device": device, "task": args.task, "held": hold.why}))
    else:
        print(
            f"released: the report of {args.task}, which was held: {hold.why}\n"
            f"{_AFTER if lasts else _MEANWHILE}"
        )
    return 0
