"""`fsir-sim table`: one cell of the paper's tables."""

from __future__ import annotations

import argparse
from typing import Any, get_args

from sim_devices.commands.paper.common import add_common, show
from sim_devices.datasets.models import MODELS
from sim_devices.paper.cells import HIGH_N, HIGH_PS, LOW_P, Cell, ExperimentError, printed
from sim_devices.paper.means import Mean, run_cell
from sim_devices.paper.profiles import Profile

PAGE = {
    "description": "Run one cell: mean projection loss, its standard error, and what the paper "
    "prints there."
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
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
    add_common(parser)


def run(options: argparse.Namespace) -> int:
    """Run the cell."""
    cell = _cell(options)
    mean = run_cell(cell, options.mechanism, options.profile, options.reps, options.seed)
    show(_result(cell, options.mechanism, mean), options.json)
    return 0


def _cell(options: argparse.Namespace) -> Cell:
    p = options.p or (LOW_P if options.setting == "low" else HIGH_PS[0])
    if min(options.reps, options.n, options.clients, p) < 1 or not options.epsilon > 0.0:
        raise ExperimentError(
            "--reps, --n, --clients and --p must be at least 1, and --epsilon above 0"
        )
    return Cell(
        setting=options.setting,
        model=options.model,
        epsilon=options.epsilon,
        p=p,
        n=options.n,
        clients=options.clients,
    )


def _result(cell: Cell, mechanism: str, mean: Mean) -> dict[str, Any]:
    result: dict[str, Any] = {
        "loss": round(mean.loss, 4),
        "standard_error": round(mean.standard_error, 4),
        "paper": _printed(cell, mechanism),
    }
    if mechanism in ("gaussian", "funnel", "votes"):
        result["paper_vgm"] = _printed(cell, "vgm")
    if mean.recall is not None:
        result |= {"recall": round(mean.recall, 3), "active_set": round(mean.size or 0.0, 1)}
    return result | {"replications": mean.replications}


def _printed(cell: Cell, mechanism: str) -> float | None:
    paper = printed().get((cell, mechanism))
    return None if paper is None else paper.loss
