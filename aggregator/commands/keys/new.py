"""`fsir-aggregator keys new`: a key pair for an aggregator that is one of two."""

from __future__ import annotations

import argparse
import sys

from fsir.errors import KeyFileError
from fsir.limits import DEVICE_NAME
from fsir.secure.keys import KeyPair, write_pair

PAGE = {
    "description": """\
Make the key pair of one of the two aggregators of a task with aggregation = "secure". Each party \
makes its own, on its
own machine: who holds both files can open every report. The file is for its owner alone, and \
needs a backup: what was
sealed to a lost key opens with nothing else. The line on standard output is public. It goes to \
whoever writes the task:

  fsir-aggregator task new --trust secure --leader NAME:KEY --helper NAME:KEY --cohort 20 ...
"""
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Whose, and where to."""
    parser.add_argument(
        "--name", required=True, metavar="NAME", help="of the aggregator, as devices will read it"
    )
    parser.add_argument(
        "--out", required=True, metavar="FILE", help="of the private keys; must not be there yet"
    )


def run(args: argparse.Namespace) -> int:
    """Write the pair, print the public half."""
    if not DEVICE_NAME.match(args.name):
        raise KeyFileError(f"--name {args.name}: use 1 to 64 letters, digits, '.', '_' or '-'")
    pair = KeyPair.new(args.name)
    write_pair(pair, args.out)
    print(f"{pair.party.name}:{pair.party.key}")
    print(f"the private keys of {args.name!r} are in {args.out}; keep them safe", file=sys.stderr)
    return 0
