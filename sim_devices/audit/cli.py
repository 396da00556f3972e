"""The commands `fsir-sim audit` and `fsir-sim attack`."""

from __future__ import annotations

import argparse
from pathlib import Path

# Heavy imports wait until a command runs: this module is read for every `fsir-sim --help`.
_AUDIT = """\
A lower bound on the true epsilon of a mechanism, against what it claims.

mechanisms: gaussian, two-stage, iid: as shipped; agent: the shipped program as a black box; vgm: the paper's;
            none, clip-from-data, ccmd, centred, renoised, unweighted: known mistakes
pairs:      A, B, C, Z, cR, ccmd, centre, worst; search (the worst neighbour of model-III data, or of --task and
            --data); all
Without --mechanism: everything, each with the verdict that is expected of it (docs/privacy.md).
"""


def add_parsers(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add both commands."""
    _add_audit(subparsers)
    _add_attack(subparsers)


def _add_audit(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "audit", help="is a release as private as it claims?", description=_AUDIT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--mechanism", metavar="NAME", help="what to audit (default: everything)")
    parser.add_argument(
        "--pair", default="all", metavar="NAME", help="neighbouring data (default %(default)s)"
    )
    parser.add_argument("--epsilon", type=float, default=1.0, help="claimed (default %(default)s)")
    parser.add_argument("--delta", type=float, help="claimed (default: n^-1.1, as in the paper)")
    parser.add_argument(
        "--n", type=int, default=1000, help="records of a pair (default %(default)s)"
    )
    parser.add_argument(
        "--p", type=int, default=10, help="features of a pair (default %(default)s)"
    )
    parser.add_argument(
        "--truncate", type=float, default=3.0, metavar="R", help="(default %(default)s)"
    )
    parser.add_argument(
        "--dimension",
        type=int,
        metavar="D",
        help="public dimension for vgm (default: the pair's own)",
    )
    parser.add_argument(
        "--task", type=Path, metavar="FILE", help="search: audit this task (TOML) ..."
    )
    parser.add_argument("--data", type=Path, metavar="FILE", help="... on these records (CSV)")
    parser.add_argument(
        "--broken", metavar="HOW", help="agent: half-noise, reused-noise, renoised or unweighted"
    )
    parser.add_argument(
        "--samples", type=int, help="Monte Carlo draws (default 200000, in a search 400000)"
    )
    parser.add_argument(
        "--runs", type=int, default=1500, help="agent: runs on each side (default %(default)s)"
    )
    parser.add_argument(
        "--seed", type=int, help="repeatable draws; an agent uses the system's noise without it"
    )
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.set_defaults(run=_audit)


def _add_attack(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    text = "the tracing attack: was this record in the data?"
    parser = subparsers.add_parser("attack", help=text, description=text)
    parser.add_argument(
        "--data", action="append", metavar="WHAT",
        help="bodyfat.csv, or the UCI HAR set (archive, folder, npz), or `independent` (default); may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--epsilon", type=float, default=1.0, help="of the agent (default %(default)s)"
    )
    parser.add_argument(
        "--delta", type=float, default=1e-6, help="of the agent (default %(default)s)"
    )
    parser.add_argument(
        "--repetitions", type=int, default=200, metavar="N", help="(default %(default)s)"
    )
    parser.add_argument(
        "--seed", type=int, default=1, help="of splits and noise (default %(default)s)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("out/attack.png"), help="the picture (default %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.set_defaults(run=_attack)


def _audit(options: argparse.Namespace) -> int:
    from sim_devices.audit.commands import audit

    return audit(options)


def _attack(options: argparse.Namespace) -> int:
    from sim_devices.audit.commands import attack

    return attack(options)
