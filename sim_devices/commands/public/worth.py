"""`fsir-sim worth`: is a federation ever worse than what is public?"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import nullcontext
from pathlib import Path

from fsir.errors import FsirError
from fsir.net.files import writable_folder, writing
from sim_devices.commands.options import add_budgets, add_results, positive
from sim_devices.commands.trust import add_whom, is_secure
from sim_devices.datasets.population import DataError
from sim_devices.worth import grid, table
from sim_devices.worth.cell import Cell
from sim_devices.worth.sets import SETS, Set, load

PAGE = {
    "description": "Hold federations with a public map against the best that the public sample "
    "gives alone: each person once as the volunteer, and random splits of scikit-learn's tables. "
    "In one process, without a network; writes Markdown and CSV with every cell, good or bad."
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "--sets",
        type=_names,
        default=SETS,
        metavar="NAMES",
        help=f"some of {','.join(SETS)} (default: all that are there)",
    )
    add_budgets(
        parser,
        "budgets of a device at delta 1e-6; with 1, har and hapt also run it for two records "
        "together",
    )
    parser.add_argument(
        "--every",
        type=positive,
        default=1,
        metavar="K",
        help="only every K-th volunteer, for a quick look (default all)",
    )
    parser.add_argument(
        "--splits",
        type=positive,
        default=20,
        metavar="N",
        help="random splits of each table (default %(default)s)",
    )
    add_whom(parser)
    add_results(
        parser, seeded="splits and noise", out=Path("out/worth"), written="worth.md and worth.csv"
    )


def run(options: argparse.Namespace) -> int:
    """Run the grid and write its tables."""
    sets, missing = _loaded(options)
    out = writable_folder("--out", options.out)
    cells = _cells(options, sets)
    with writing("--out", out):
        (out / "worth.csv").write_text(table.comma_separated(cells), "utf-8")
        (out / "worth.md").write_text(_page(options, sets, missing, cells), "utf-8")
    if options.json:
        rows = [cell.row() for cell in cells]
        print(json.dumps({"cells": rows, "expected": table.summary(cells), "left_out": missing}))
        return 0
    for cell in cells:
        print(table.line(cell))
    print(f"{table.verdict(cells)}\n{out / 'worth.md'}\n{out / 'worth.csv'}")
    return 0


def _loaded(options: argparse.Namespace) -> tuple[list[Set], dict[str, str]]:
    """The sets that are there, and why the others are not."""
    sets = []
    missing = {}
    for name in options.sets:
        try:
            found = load(name, seed=options.seed, splits=options.splits, every=options.every)
        except DataError as error:
            missing[name] = str(error)
            print(f"fsir-sim: {name} IS LEFT OUT: {error}", file=sys.stderr)
            continue
        sets.append(found)
    if not sets:
        raise FsirError(
            "none of the sets is there; FSIR_DATA names the folder with uci_har and hapt, and "
            "scikit-learn and seglearn bring the others"
        )
    return sets, missing


def _cells(options: argparse.Namespace, sets: list[Set]) -> list[Cell]:
    from sim_devices.results.progress import bar

    quiet = nullcontext(lambda done, total: None)
    with bar("worth", "volunteers, splits") if sys.stderr.isatty() else quiet as advanced:
        shared = is_secure(options)
        return grid.run(sets, options.epsilon, options.seed, advanced, shared=shared)


def _page(
    options: argparse.Namespace, sets: list[Set], missing: dict[str, str], cells: list[Cell]
) -> str:
    about = "".join(f"- {chosen.name}: {chosen.about}\n" for chosen in sets)
    absent = "".join(f"- {name}: **left out**: {why}\n" for name, why in missing.items())
    return (
        f"# What is it worth?\n\n```\n{_command(options)}\n```\n\n{about}{absent}\n"
        f"{table.markdown(cells)}"
    )


def _command(options: argparse.Namespace) -> str:
    epsilons = ",".join(f"{epsilon:g}" for epsilon in options.epsilon)
    every = f" --every {options.every}" if options.every > 1 else ""
    trust = f" --trust {options.trust}" if is_secure(options) else ""
    return (
        f"fsir-sim worth --sets {','.join(options.sets)} --epsilon {epsilons} "
        f"--splits {options.splits}{every}{trust} --seed {options.seed}"
    )


def _names(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.split(",")))
    if strange := [name for name in names if name not in SETS]:
        raise argparse.ArgumentTypeError(f"{strange[0]!r} is not one of {', '.join(SETS)}")
    return names
