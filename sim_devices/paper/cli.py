"""`fsir-sim table`, `fsir-sim tables`, `fsir-sim ablation` and `fsir-sim figures`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any, get_args

from sim_devices.datasets.models import MODELS
from sim_devices.paper.cells import HIGH_N, HIGH_PS, LOW_P, Cell, ExperimentError, printed


def add_parsers(subparsers: Any) -> None:
    """Add the commands; each sets `run`, which takes the parsed arguments and returns an exit
    code."""
    _add_table(
        subparsers.add_parser(
            "table", help="one cell of the paper's tables", description=_cell.__doc__
        )
    )
    _add_tables(subparsers.add_parser("tables", help="all 560 cells", description=_tables.__doc__))
    _add_ablation(
        subparsers.add_parser(
            "ablation", help="what each part contributes", description=_ablation.__doc__
        )
    )
    _add_figures(subparsers.add_parser("figures", help="the figures", description=_figures.__doc__))


def _common(parser: argparse.ArgumentParser, run: Any) -> None:
    parser.add_argument("--seed", type=int, default=1, help="names all random streams (default 1)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


# --- one cell -------------------------------------------------------------------------------------


def _add_table(parser: argparse.ArgumentParser) -> None:
    from sim_devices.paper.profiles import Profile

    parser.add_argument("--setting", choices=("low", "high"), default="low")
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument(
        "--epsilon", type=float, default=1.0, help="as the paper prints it (it spends it twice)"
    )
    parser.add_argument("--n", type=int, default=HIGH_N, help="records per client")
    parser.add_argument("--clients", type=int, default=10, metavar="K")
    parser.add_argument(
        "--p", type=int, help=f"features: {LOW_P} in low, one of {HIGH_PS} in high dimension"
    )
    parser.add_argument(
        "--mechanism",
        choices=("gaussian", "iid", "vgm", "none", "funnel", "votes"),
        default="gaussian",
    )
    parser.add_argument(
        "--profile", choices=get_args(Profile), default="tables", help="of iid and vgm"
    )
    parser.add_argument("--reps", type=int, default=40)
    _common(parser, _cell)


def _cell(options: argparse.Namespace) -> int:
    """Run one cell: mean projection loss, its standard error, and what the paper prints there."""
    from sim_devices.paper.single import run_cell

    p = options.p or (LOW_P if options.setting == "low" else HIGH_PS[0])
    if min(options.reps, options.n, options.clients, p) < 1 or not options.epsilon > 0.0:
        raise ExperimentError(
            "--reps, --n, --clients and --p must be at least 1, and --epsilon above 0"
        )
    cell = Cell(options.setting, options.model, options.epsilon, p, options.n, options.clients)
    mean = run_cell(cell, options.mechanism, options.profile, options.reps, options.seed)
    paper = printed().get((cell, options.mechanism))
    result: dict[str, Any] = {
        "loss": round(mean.loss, 4),
        "standard_error": round(mean.standard_error, 4),
    }
    result["paper"] = None if paper is None else paper.loss
    if options.mechanism in ("gaussian", "funnel", "votes"):
        vgm = printed().get((cell, "vgm"))
        result["paper_vgm"] = None if vgm is None else vgm.loss
    if mean.recall is not None:
        result |= {"recall": round(mean.recall, 3), "active_set": round(mean.size or 0.0, 1)}
    result["replications"] = mean.replications
    _show(result, options.json)
    return 0


# --- all cells ------------------------------------------------------------------------------------


def _add_tables(parser: argparse.ArgumentParser) -> None:
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
    _common(parser, _tables)


def _tables(options: argparse.Namespace) -> int:
    """Run every cell of the paper's four tables with the paper's mechanisms and the private ones;
    write CSV and Markdown. A run that is stopped goes on where it was."""
    from sim_devices.paper import summary, tables
    from sim_devices.results.progress import bar

    default = tables.QUICK if options.quick else tables.PUBLISHED
    replications = {
        setting: default[setting] if given is None else given
        for setting, given in (("low", options.low), ("high", options.high))
    }
    if min(options.workers, *(1 + count for count in replications.values())) < 1:
        raise ExperimentError("--workers must be at least 1, --low and --high at least 0")
    quiet = nullcontext(lambda done, total: None)
    with bar("tables", "replications") if sys.stderr.isatty() else quiet as advanced:
        results = tables.run(
            tables.units(replications),
            options.out / "results.jsonl",
            options.seed,
            options.workers,
            advanced,
        )
    found = summary.means(results)
    (options.out / "tables.csv").write_text(summary.table_csv(found), "utf-8")
    numbers = summary.headline(found)
    command = f"fsir-sim tables --low {replications['low']} --high {replications['high']} --seed {options.seed}"
    (options.out / "tables.md").write_text(summary.table_markdown(found, numbers, command), "utf-8")
    _show(dict(numbers), options.json)
    return 0


# --- one thing changed at a time ------------------------------------------------------------------


def _add_ablation(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--reps", type=int, default=10, help="replications")
    _common(parser, _ablation)


def _ablation(options: argparse.Namespace) -> int:
    """Run the low-dimensional cells with one part of the default release changed at a time."""
    from sim_devices.paper.ablation import ablation

    if options.reps < 1:
        raise ExperimentError("--reps must be at least 1")
    _show(dict(ablation(options.reps, options.seed)), options.json)
    return 0


# --- figures --------------------------------------------------------------------------------------


def _add_figures(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--which", choices=("cost", "clients", "flights", "all"), default="all")
    parser.add_argument("--reps", type=int, default=40, help="replications of the curves")
    parser.add_argument("--seeds", type=int, default=20, help="runs on the flights")
    parser.add_argument("--epsilon", type=float, default=1.0, help="of the flights")
    parser.add_argument("--out", type=Path, default=Path("fsir-figures"), help="folder")
    _common(parser, _figures)


def _figures(options: argparse.Namespace) -> int:
    """Privacy cost against n on one client; angle against the number of clients; flights. Writes
    SVG, PNG and CSV."""
    from sim_devices.paper import figures

    if min(options.reps, options.seeds) < 2:
        raise ExperimentError("--reps and --seeds must be at least 2")
    options.out.mkdir(parents=True, exist_ok=True)
    result: dict[str, Any] = {}
    if options.which in ("cost", "all"):
        result["cost"] = figures.cost(options.reps, options.seed, options.out)
    if options.which in ("clients", "all"):
        result["clients"] = figures.clients(options.reps, options.seed, options.out)
    if options.which in ("flights", "all"):
        result["flights"] = figures.flights(
            options.seeds, options.seed, options.epsilon, options.out
        )
    _show(result, options.json)
    return 0


def _show(result: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print(json.dumps(result))
        return
    width = max(len(key) for key in result)
    for key, value in result.items():
        print(f"{key:<{width}}  {value}")
