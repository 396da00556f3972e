"""Federations of people with a phone: their options, and one federation or several of them.

What a federation needs is imported when there is one: help is not to wait for it.
"""

from __future__ import annotations

import argparse
import json
from argparse import Namespace
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sim_devices.commands.options import positive, whole

if TYPE_CHECKING:
    from sim_devices.scenarios.scenarios import Scenario

AUTO = "auto"
NOBODY = "none"
MAPPED = ("gaussian", "none")  # mechanisms that work with a public map


def add_people(parser: argparse.ArgumentParser, *, windows: int = 500, six: bool = False) -> None:
    """Options of invented people."""
    parser.add_argument(
        "--devices", type=positive, default=21, help="people who take part (default %(default)s)"
    )
    parser.add_argument(
        "--windows", type=positive, default=windows, help="records of each (default %(default)s)"
    )
    add_person(parser, six=six)


def add_volunteer(parser: argparse.ArgumentParser, more: str = "") -> None:
    """Who volunteers."""
    parser.add_argument(
        "--volunteer",
        default=AUTO,
        metavar="NAME",
        help="whose records are public and make the task, and who is no device; `none`; "
        f"or `auto`, the first person{more}",
    )


def add_person(parser: argparse.ArgumentParser, *, six: bool = False) -> None:
    """Options of any people; with `six`, six activities are what is asked for without options."""
    add_volunteer(parser, " (har with a unit of one record and three levels: none)")
    parser.add_argument(
        "--choose",
        type=whole,
        metavar="K",
        help="the K features that tell the volunteer's classes apart, and one report about them; "
        "0: a first report about all features chooses (default: the volunteer's records propose "
        "the whole task, with a public map; without a volunteer, 0)",
    )
    if six:
        parser.add_argument(
            "--levels",
            dest="six",
            action="store_false",
            help="three levels instead of six activities",
        )
    else:
        parser.add_argument(
            "--six", action="store_true", help="six activities instead of three levels"
        )
    parser.add_argument(
        "--compare", action="store_true", help="none, gaussian, iid and vgm side by side"
    )
    parser.add_argument(
        "--repeat",
        type=positive,
        default=1,
        metavar="N",
        help="seeds S, S+1, ...: mean and worst of N",
    )
    parser.add_argument(
        "--shuffle",
        action="store_true",
        help="shuffle the labels of the devices: nothing may be learned from them",
    )


def volunteer_of(options: Namespace, first: str) -> str | None:
    """Who volunteers: the first person unless somebody, or nobody, was named."""
    if options.volunteer == NOBODY:
        return None
    return first if options.volunteer == AUTO else str(options.volunteer)


def chosen_of(options: Namespace, otherwise: int = 0) -> int | None:
    """How many features the volunteer chooses; None: the volunteer's records propose all.

    The paper's mechanisms know no public map: with them it is `otherwise`.
    """
    if options.choose is not None:
        return int(options.choose)
    mapped = options.mechanism in MAPPED and not options.compare
    return None if mapped else otherwise


def run_people(options: Namespace, scenario: Scenario, *, paper_first: bool) -> int:
    """Run the federation; with `paper_first` and no delta asked for, with both deltas."""
    import numpy as np

    from sim_devices.commands.running import run
    from sim_devices.commands.trust.setting import SAFE_DELTA, delta_of
    from sim_devices.datasets.population import with_shuffled_responses

    if options.shuffle:
        rng = np.random.default_rng(options.seed)
        scenario = replace(scenario, population=with_shuffled_responses(scenario.population, rng))
    both = paper_first and options.delta is None
    deltas = [None, SAFE_DELTA] if both else [delta_of(options)]
    dimension = None if options.six else 2
    if options.repeat > 1:
        return _repeat(options, scenario, deltas, dimension)
    return run(options, scenario, deltas, dimension=dimension, compare=options.compare)


def _repeat(
    options: Namespace, scenario: Scenario, deltas: list[float | None], dimension: int | None
) -> int:
    """The same federation with different noise: mean and worst accuracy for each delta."""
    tables = []
    for delta in deltas:
        tables.append(_repeated(options, scenario, delta, dimension))
        if not options.json:
            _print_repeated(options, tables[-1])
    if options.json:
        print(json.dumps(tables[0] | {"beside": tables[1:]}))
    return 0


def _repeated(
    options: Namespace, scenario: Scenario, delta: float | None, dimension: int | None
) -> dict[str, Any]:
    import numpy as np

    from sim_devices.commands.running import federation
    from sim_devices.results.result import evaluate

    results = []
    for seed in range(options.seed, options.seed + options.repeat):
        outcome = federation(options, scenario, delta, options.mechanism, dimension, seed=seed)
        results.append(evaluate(outcome, scenario))
    scores = [result.accuracy for result in results if result.accuracy is not None]
    summary = {"accuracy": float(np.mean(scores)), "worst": min(scores), "accuracies": scores}
    return results[-1].table(options.seed) | summary


def _print_repeated(options: Namespace, table: dict[str, Any]) -> None:
    print(
        f"epsilon {options.epsilon:g}, delta {table['delta']:.2g}, "
        f"unit of {options.unit_records}: mean {table['accuracy']:.4f}, "
        f"worst {table['worst']:.4f} of {options.repeat} runs, {table['devices']} devices"
    )
