"""`fsir-sim poison`: how far lying devices can turn the subspace."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator

from fsir.errors import FsirError
from sim_devices.commands.options import whole
from sim_devices.datasets.models import MODELS
from sim_devices.poison.measure import Measured, Measurement, liars_of
from sim_devices.poison.population import Setting

_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2)
_AGGREGATIONS = ("sum", "trimmed", "groups")
PAGE = {
    "description": """\
How far can lying devices turn the subspace? Liars all send the worst report that the aggregator's \
validation lets
through, found by search; the loss to the truth is measured on federations that they have not \
seen.

aggregations: sum (the default of a task), trimmed (in every coordinate without the outer \
quarters; a task may ask for
it), groups (the median over groups of three devices). The first row of each is its price when \
nobody lies.
""",
    "formatter_class": argparse.RawDescriptionHelpFormatter,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    _add_population(parser)
    parser.add_argument(
        "--liars",
        type=float,
        nargs="+",
        default=_SHARES,
        metavar="SHARE",
        help="(default 0.01 0.02 0.05 0.1 0.2)",
    )
    parser.add_argument("--aggregation", nargs="+", choices=_AGGREGATIONS, default=_AGGREGATIONS)
    parser.add_argument(
        "--plans",
        type=int,
        default=4,
        help="federations that the liars plan on (default %(default)s)",
    )
    parser.add_argument(
        "--tries", type=int, default=20, help="federations it is tried on (default %(default)s)"
    )
    parser.add_argument("--seed", type=whole, default=1, help="of everything (default %(default)s)")
    parser.add_argument("--json", action="store_true", help="one JSON object")


def _add_population(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model", choices=MODELS, default="III", help="of the data (default %(default)s)"
    )
    parser.add_argument(
        "--devices", type=int, default=30, metavar="K", help="liars included (default %(default)s)"
    )
    parser.add_argument(
        "--records", type=int, default=1000, metavar="N", help="of each (default %(default)s)"
    )
    parser.add_argument(
        "--epsilon", type=float, default=1.0, help="at delta 1e-6 (default %(default)s)"
    )
    parser.add_argument(
        "--spread",
        type=float,
        default=0.0,
        metavar="SD",
        help="how far devices are apart (default 0)",
    )
    parser.add_argument(
        "--lacking",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="of the slices, on each device (default 0)",
    )


def run(options: argparse.Namespace) -> int:
    """Measure and print."""
    _check(options)
    setting = Setting(
        model=options.model,
        devices=options.devices,
        n=options.records,
        p=10,
        epsilon=options.epsilon,
        spread=options.spread,
        lacking=options.lacking,
    )
    measurement = Measurement(setting, options.seed, options.plans, options.tries)
    cells = measurement.cells(options.aggregation, liars_of(setting.devices, options.liars))
    if options.json:
        rows = [vars(cell) for cell in cells]
        print(json.dumps({"setting": vars(setting), "seed": options.seed, "cells": rows}))
    else:
        _show(setting, cells)
    return 0


def _check(options: argparse.Namespace) -> None:
    if not all(0.0 < share < 0.5 for share in options.liars):
        raise FsirError(f"--liars {options.liars}: each share must lie between 0 and 0.5")
    if min(options.devices, options.records, options.plans, options.tries) < 2:
        raise FsirError("--devices, --records, --plans and --tries must be at least 2")
    if not 0.0 <= options.lacking <= 0.5:
        raise FsirError(f"--lacking {options.lacking}: the share must lie between 0 and 0.5")


def _show(setting: Setting, cells: Iterator[Measured]) -> None:
    """Each row as soon as it is known."""
    worst = (2 * setting.d) ** 0.5
    print(f"model {setting.model}, {setting.devices} devices; a loss of {worst:.2f} is the worst")
    print("aggregation  liars    loss to the truth    turned by", flush=True)
    for cell in cells:
        loss = f"{cell.loss:.3f} +- {cell.standard_error:.3f}"
        turned = f"       {cell.angle:.0f} degrees" if cell.liars else ""
        print(f"{cell.aggregation:<11}  {cell.liars:5d}    {loss}{turned}", flush=True)
