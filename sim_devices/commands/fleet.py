"""`fsir-sim fleet`: many devices with little data. The point is that all are counted."""

from __future__ import annotations

import argparse
import json

from fsir.task.task import Task
from sim_devices.commands.options import add_federation, positive
from sim_devices.commands.running import federation
from sim_devices.commands.trust import add_trust
from sim_devices.commands.trust.setting import SAFE_DELTA
from sim_devices.network.federation import Outcome
from sim_devices.results.result import Result
from sim_devices.scenarios import scenarios

PAGE = {"description": "thousands of virtual devices, all counted exactly once"}
PATIENCE_SECONDS = 3600.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    add_federation(parser)
    add_trust(parser)
    parser.add_argument(
        "--devices", type=positive, default=1000, help="how many (default %(default)s)"
    )
    parser.add_argument(
        "--records", type=positive, default=200, help="per device (default %(default)s)"
    )


def run(options: argparse.Namespace) -> int:
    """Run it; 1 if a device that came is not counted."""
    scenario = scenarios.model("I", options.devices, options.records, 10, options.seed)
    outcome = federation(
        options, scenario, SAFE_DELTA, options.mechanism, None, patience=PATIENCE_SECONDS
    )
    if options.json:
        table = _result(outcome, scenario).table(options.seed)
        table["devices_per_second"] = round(outcome.devices / outcome.seconds, 1)
        print(json.dumps(table))
    else:
        _show(outcome)
    return 0 if outcome.devices - outcome.subspace.devices <= _most_left(outcome.task) else 1


def _most_left(task: Task) -> int:
    """How many may be left over: of two aggregators, those who make no cohort."""
    return 0 if task.secure is None else task.secure.cohort - 1


def _result(outcome: Outcome, scenario: scenarios.Scenario) -> Result:
    """Nothing is evaluated: the records are too few to tell much."""
    return Result(outcome=outcome, scenario=scenario)


def _show(outcome: Outcome) -> None:
    print(
        f"{outcome.subspace.devices} of {outcome.devices} devices counted "
        f"in {outcome.seconds:.0f} s over {outcome.broker}"
    )
    print(f"{outcome.cuts} connections lost, {outcome.crashes} crashes, {outcome.retries} retries")
