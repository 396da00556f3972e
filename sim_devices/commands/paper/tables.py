"""`fsir-sim tables`: all 560 cells."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import nullcontext
from pathlib import Path

from fsir.net.files import writable_folder, writing
from sim_devices.commands.paper.common import add_common, show
from sim_devices.commands.trust import add_whom, is_secure
from sim_devices.paper import shared_summary, summary, tables
from sim_devices.paper.cells import ExperimentError
from sim_devices.paper.means import means

PAGE = {
    "description": "Run every cell of the paper's four tables with the paper's mechanisms and the "
    "private ones, or with --trust secure with what two aggregators open of all clients beside "
    "local noise; write CSV and Markdown. A run that is stopped goes on where it was."
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "--quick", action="store_true", help="40 replications in low and 10 in high dimension"
    )
    parser.add_argument(
        "--low", type=int, metavar="R", help="replications in low dimension (default 400)"
    )
    parser.add_argument(
        "--high", type=int, metavar="R", help="replications in high dimension (default 10)"
    )
    parser.add_argument(
        "--workers", type=int, default=min(2, os.cpu_count() or 1), help="processes"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("fsir-tables"), help="folder; a stopped run goes on there"
    )
    add_whom(parser)
    add_common(parser)


def run(options: argparse.Namespace) -> int:
    """Run all cells and write the tables."""
    replications = _replications(options)
    out = writable_folder("--out", options.out)
    with writing("--out", out):
        known = means(_results(options, replications))
    told = shared_summary if is_secure(options) else summary
    numbers = told.headline(known)
    command = (
        f"fsir-sim tables{' --trust secure' if is_secure(options) else ''} "
        f"--low {replications['low']} --high {replications['high']} --seed {options.seed}"
    )
    text = told.table_markdown(known, numbers, command)
    with writing("--out", out):
        (out / "tables.csv").write_text(told.table_csv(known), "utf-8")
        (out / "tables.md").write_text(text, "utf-8")
    show(dict(numbers), options.json)
    return 0


def _replications(options: argparse.Namespace) -> dict[str, int]:
    default = tables.QUICK if options.quick else tables.PUBLISHED
    replications = {
        setting: default[setting] if given is None else given
        for setting, given in (("low", options.low), ("high", options.high))
    }
    if min(options.workers, *(1 + count for count in replications.values())) < 1:
        raise ExperimentError("--workers must be at least 1, --low and --high at least 0")
    return replications


def _results(
    options: argparse.Namespace, replications: dict[str, int]
) -> dict[tables.Unit, list[tables.Value]]:
    from sim_devices.results.progress import bar

    quiet = nullcontext(lambda done, total: None)
    with bar("tables", "replications") if sys.stderr.isatty() else quiet as advanced:
        return tables.run(
            tables.units(replications, options.trust),
            options.out / "results.jsonl",
            options.seed,
            options.workers,
            advanced,
        )
