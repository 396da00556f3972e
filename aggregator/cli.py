"""The command `fsir-aggregator`."""

from __future__ import annotations

from collections.abc import Sequence

from fsir.net.program import Program

_ABOUT = """\
Where the reports of all devices meet. It counts each report exactly once, chooses the active \
features, estimates the
subspace and publishes it to every device.

  fsir-aggregator task new --sample public.csv --response COLUMN     write a task from public data
  fsir-aggregator task check task.toml                               \
what will it cost, and what will it give?
  fsir-aggregator serve --task task.toml --broker URL --store sqlite:fsir.db
  fsir-aggregator status --store sqlite:fsir.db                      how far is it?
"""
_COMMANDS = {
    "serve": "run the daemon",
    "status": "tasks, devices, active set, subspace, refusals",
    "subspace": "the current estimate, for use elsewhere",
    "refused": "what was refused, and why",
    "devices": "which devices have been counted",
    "roster": "who is expected, and who is missing",
    "withdraw": "take a device out again",
    "readmit": "undo a withdrawal",
    "compact": "keep only the totals of old rounds",
    "store": "move a federation to another store",
    "task": "write or check a task file",
    "keys": "make the keys of one of two aggregators",
}
_PROGRAM = Program("fsir-aggregator", _ABOUT, "aggregator.commands", _COMMANDS, "aggregator")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    return _PROGRAM.main(arguments)
