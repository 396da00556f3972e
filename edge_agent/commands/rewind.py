"""`fsir-agent rewind`: read a file again from its beginning, while nothing of it was reported."""

from __future__ import annotations

import argparse
import difflib
import json
from contextlib import closing

from edge_agent.commands.settings.options import add_json, add_state
from edge_agent.errors import SourceError
from edge_agent.sources import SCHEMES, name_of_file
from edge_agent.state.rewinding import Rewound
from edge_agent.state.state import State

PAGE = {
    "description": """\
Let a file be read again from its first record: because labels came late, a column was mended, or \
lines were read in vain.
What was learned from it and not reported is deleted, of every task. Once a report was made about \
it this is refused: a
record would count twice. Stop the agent first; at its next start it begins anew.

  fsir-agent rewind --source csv:readings.csv --state DIR
"""
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--source and --state."""
    parser.add_argument(
        "--source",
        required=True,
        metavar="SOURCE",
        help="as it was given to `fsir-agent run`, or as `fsir-agent status --json` names it",
    )
    add_state(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Forget that a source was read, unless something of it was reported."""
    with closing(State(args.state, None, read_only=True)) as looking:
        known = looking.sources()
    source = _known(args.source, known)
    with closing(State(args.state, None)) as state:
        rewound = state.rewind(source)
    if args.json:
        print(json.dumps({"device": state.device, "source": source, **rewound._asdict()}))
    else:
        print(_words(source, rewound))
    return 0


def _known(address: str, known: list[str]) -> str:
    """The name under which the state knows a source."""
    name = name_of_file(address)
    if name is None and address.partition(":")[0] in {*SCHEMES, "program"}:
        raise SourceError(
            f"--source {address}: only a file can be read again; what this one has brought is gone"
        )
    for candidate in (name, address):
        if candidate in known:
            return str(candidate)
    close = difflib.get_close_matches(name or address, known, 1, 0.0)
    hint = f"did you mean {close[0]}?" if close else "no task has named a source yet"
    raise SourceError(f"--source {address}: this state does not know it; {hint}")


def _words(source: str, rewound: Rewound) -> str:
    if not rewound.positions and not rewound.learned:
        return f"{source}: nothing of it has been read yet"
    lines = [f"{source} will be read from its beginning: nothing of it was reported."]
    lines.append(f"dropped: what was learned for {', '.join(rewound.learned) or 'no task'}")
    if rewound.recognised:
        lines.append(f"dropped: what was recognised for {', '.join(rewound.recognised)}")
    return "\n".join(lines)
