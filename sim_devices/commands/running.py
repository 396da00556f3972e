"""A federation as the options ask for it: run, evaluated, drawn, told."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from fsir.net.files import writing
from sim_devices.commands.options import picture_folder
from sim_devices.commands.trust.setting import setting_of
from sim_devices.network.federation import PATIENCE_SECONDS, Outcome, federate
from sim_devices.network.fleet.faults import Faults
from sim_devices.network.kinds import warning
from sim_devices.results import report
from sim_devices.results.result import Result, evaluate
from sim_devices.scenarios.controls import Ahead
from sim_devices.scenarios.scenarios import Scenario
from sim_devices.scenarios.tasks import build

COMPARED = ("none", "gaussian", "iid", "vgm")


def run(
    options: Namespace,
    scenario: Scenario,
    deltas: list[float | None],
    *,
    dimension: int | None = None,
    compare: bool = False,
) -> int:
    """Run the federation (several of them to compare), evaluate, draw, tell."""
    directory = picture_folder(options.out / scenario.population.name)
    mechanisms = COMPARED if compare else (options.mechanism,)
    results: list[Result] = []
    controls = Ahead(scenario)
    for mechanism in mechanisms:
        ahead = controls if mechanism == options.mechanism else None
        outcome = federation(options, scenario, deltas[0], mechanism, dimension, ahead=ahead)
        results.append(evaluate(outcome, scenario, ahead, options.seed))
    beside = []
    for delta in deltas[1:] if len(mechanisms) == 1 else []:
        outcome = federation(options, scenario, delta, options.mechanism, dimension)
        beside.append(evaluate(outcome, scenario))
    _tell(options, scenario, results, beside, directory)
    return 0


def _tell(
    options: Namespace,
    scenario: Scenario,
    results: list[Result],
    beside: list[Result],
    directory: Path,
) -> None:
    title = f"{scenario.population.name}: those who took no part, projected"
    with writing("--out", directory):
        png, html = report.write_pictures(results, directory, title)
    if not options.json:
        report.show(results, beside, png, html)
        return
    files = {"picture": str(png), "page": str(html)}
    caveats = {"caveats": list(scenario.population.caveats)}
    others = [other.table(options.seed) for other in results[1:] + beside]
    print(json.dumps(results[0].table(options.seed) | files | caveats | {"beside": others}))


def federation(
    options: Namespace,
    scenario: Scenario,
    delta: float | None,
    mechanism: str,
    dimension: int | None,
    *,
    seed: int | None = None,
    patience: float = PATIENCE_SECONDS,
    ahead: Ahead | None = None,
) -> Outcome:
    """One federation over MQTT, with a bar that shows how far it is."""
    devices = len(scenario.population.devices)
    setting = setting_of(options, devices, delta, mechanism, dimension)
    task = build(scenario.population, scenario.geometry, setting)
    if ahead is not None and setting.cohort is None:  # two aggregators add their keys to the task
        ahead.begin(task)
    if words := warning(options.broker, devices):
        print(f"fsir-sim: {words}", file=sys.stderr)
    with _progress(f"{task.name}, {mechanism}, delta {task.privacy.delta:.1g}") as update:
        return federate(
            scenario.population,
            task,
            broker=options.broker,
            seed=options.seed if seed is None else seed,
            faults=_faults(options),
            progress=update,
            patience=patience,
            cohort=setting.cohort,
        )


def _faults(options: Namespace) -> Faults:
    return Faults(
        dropout=options.dropout, crash=options.crash, late=options.late, absent=options.absent
    )


def _progress(text: str) -> AbstractContextManager[Callable[[int, int], None]]:
    """A bar on a terminal, nothing in a pipe."""
    if not sys.stderr.isatty():
        return nullcontext(lambda done, total: None)
    from sim_devices.results.progress import bar

    return bar(text, thread=False)  # fleets are forked
