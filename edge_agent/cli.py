"""The program `fsir-agent`; each of its commands is a file of `edge_agent/commands`."""

from __future__ import annotations

import gc
import logging
import os
import sys

from edge_agent.mqtt import lean
from fsir.net.program import Program

_ABOUT = """\
The agent of one device. It learns from the device's own stream, reports once with noise that \
protects every record,
and then uses the subspace that it gets back to turn each new record into a few numbers. Nothing \
else ever leaves, except to you.

  fsir-agent try --task task.toml ...          are my records what this task expects? sends nothing
  fsir-agent check --task task.toml            what would this task take from me, and do I agree?
  fsir-agent run --broker mqtts://host ...     take part
  fsir-agent status --state DIR                how far is it?
  fsir-agent release NAME --state DIR          send a report that is held back
  fsir-agent ledger --state DIR                what have I given away so far?
  fsir-agent label active --state DIR          this is what I am doing now: learn it
  fsir-agent page --state DIR                  all of this in a browser
  fsir-agent features walk.csv ...             what would it learn from this recording?
  fsir-agent peek --broker mqtts://host ...    what goes over the broker, in words
  fsir-agent rewind --source SOURCE ...        read a file again, of which nothing was reported
  fsir-agent forget --state DIR                delete what was learned and not yet reported
"""
_COMMANDS = {
    "try": "whether records are what a task expects: nothing is sent, spent or kept",
    "run": "take part in one or more tasks",
    "check": "what a task would take, and whether the policy allows it",
    "status": "how far each task is",
    "release": "send a report that is held back",
    "ledger": "every release that this device ever made, and the total",
    "label": "what you are doing: the button",
    "page": "the owner's page, in a browser",
    "features": "the records of a recording, as a table",
    "peek": "what goes over the broker, in words",
    "rewind": "read a file again from its beginning, while nothing of it was reported",
    "forget": "delete what was learned and not yet reported, and labels; the ledger stays",
}
_PROGRAM = Program("fsir-agent", _ABOUT, "edge_agent.commands", _COMMANDS)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    # A device has other things to do: BLAS threads would spin between two records, for nothing.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return _PROGRAM.guarded(lambda: _run(sys.argv[1:] if arguments is None else arguments))


def _run(arguments: list[str]) -> int:
    gc.disable()  # until all is imported: none of that is garbage, and looking for some takes long
    try:
        with lean.imports():
            args = _PROGRAM.parse(arguments)
    finally:
        gc.freeze()
        gc.enable()
    logging.basicConfig(
        level=getattr(args, "log_level", "warning").upper(),
        format="%(asctime)s %(levelname)s %(message)s",
        stream=sys.stderr,
    )
    return int(args.run(args))


if __name__ == "__main__":
    sys.exit(main())
