"""`fsir-sim attack`: the tracing attack, its areas and a picture."""

from __future__ import annotations

import argparse
import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from fsir.net.files import writing
from sim_devices.audit.attack import picture, roc, targets
from sim_devices.audit.pairs import AuditError
from sim_devices.commands.options import picture_folder, whole

PAGE = {"description": "the tracing attack: was this record in the data?"}
_INDEPENDENT = "independent"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "--data",
        action="append",
        metavar="WHAT",
        help="bodyfat.csv, or the UCI HAR set (archive, folder, npz), or `independent` (default); "
        "may be repeated",
    )
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
        "--seed", type=whole, default=1, help="of splits and noise (default %(default)s)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("out/attack.png"), help="the picture (default %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run(options: Namespace) -> int:
    """Attack, print, draw."""
    if options.repetitions < 1:
        raise AuditError(f"repetitions = {options.repetitions}: at least one is needed")
    picture_folder(options.out.parent)
    panels = []
    for what in options.data or [_INDEPENDENT]:
        panels.append(_panel(what, options))
        if not options.json:
            _print(panels[-1])
    with writing("--out", options.out):
        drawn = picture.draw(panels, options.out, options.epsilon)
    if options.json:
        print(json.dumps({"picture": str(drawn), "data": [_table(panel) for panel in panels]}))
    else:
        print(f"picture: {drawn}")
    return 0


def _panel(what: str, options: Namespace) -> roc.Panel:
    budget = targets.Budget(options.epsilon, options.delta)
    if sys.stderr.isatty():
        print(f"{what}: {options.repetitions} repetitions ...", file=sys.stderr)
    if what == _INDEPENDENT:
        return targets.independent(budget, options.repetitions, options.seed)
    if what.endswith(".csv"):
        return targets.body_fat(Path(what), budget, options.repetitions, options.seed)
    return targets.har(Path(what), budget, options.repetitions, options.seed)


def _print(panel: roc.Panel) -> None:
    most = roc.limit_area(panel.mu)
    print(
        f"{panel.title} ({panel.note}); "
        f"proven: no attack on the agent reaches more than {most:.3f} on average"
    )
    for attack in panel.attacks:
        print(f"  AUC {attack.mean:.3f} +- {attack.half_width:.3f}  {attack.name}")


def _table(panel: roc.Panel) -> dict[str, Any]:
    attacks = {
        attack.name: {
            "auc": attack.mean,
            "half_width_95": attack.half_width,
            "repetitions": len(attack.areas),
        }
        for attack in panel.attacks
    }
    return {
        "name": panel.title,
        "note": panel.note,
        "limit": roc.limit_area(panel.mu),
        "attacks": attacks,
    }
