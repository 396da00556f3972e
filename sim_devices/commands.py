"""What the commands of `fsir-sim` do that run a federation."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fsir.errors import FsirError
from sim_devices.datasets.population import with_shuffled_responses
from sim_devices.network.federation import Outcome, federate
from sim_devices.network.fleet import Faults
from sim_devices.results import report
from sim_devices.scenarios import scenarios
from sim_devices.scenarios.scenarios import Scenario
from sim_devices.scenarios.tasks import Setting, build

Command = Callable[[Namespace], int]
COMPARED = ("none", "gaussian", "iid", "vgm")
SAFE_DELTA = 1e-6


def demo(options: Namespace) -> int:
    """Invented people, or the real ones where their data are."""
    if options.data is not None:
        return har(options)
    return synthetic_har(options)


def har(options: Namespace) -> int:
    """UCI HAR."""
    if options.volunteer == "auto":  # with a unit of one record, no centre is needed
        easy = options.unit_records == 1 and not options.six and not options.choose
        options.volunteer = "none" if easy else "subject-01"
    return _run_with_people(
        options,
        lambda *public: scenarios.har(options.data, not options.six, *public),
        paper_first=True,
    )


def hapt(options: Namespace) -> int:
    """The recordings behind UCI HAR."""
    options.volunteer = "subject-01" if options.volunteer == "auto" else options.volunteer
    if options.choose is None and options.volunteer != "none":
        options.choose = scenarios.CHOSEN
    return _run_with_people(
        options,
        lambda *public: scenarios.hapt(options.data, not options.six, *public),
        paper_first=True,
    )


def synthetic_har(options: Namespace) -> int:
    """Invented people."""
    options.volunteer = "person-01" if options.volunteer == "auto" else options.volunteer

    def make(who: str | None, chosen: int) -> Scenario:
        if sys.stderr.isatty():
            print(
                "inventing people, their signals and 561 features of each window ...",
                file=sys.stderr,
            )
        return scenarios.synthetic_har(
            options.devices, options.windows, not options.six, who, options.seed, chosen
        )

    return _run_with_people(options, make, paper_first=False)


def watch(options: Namespace) -> int:
    """Exercises with a smartwatch."""
    return _run(options, scenarios.watch(options.data), [_delta(options)])


def flights(options: Namespace) -> int:
    """Arrival delays."""
    return _run(
        options, scenarios.flights(options.data, options.seed), [_delta(options)], dimension=1
    )


def model(options: Namespace) -> int:
    """One of the paper's models."""
    scenario = scenarios.model(options.model, options.devices, options.records, 10, options.seed)
    return _run(options, scenario, [_delta(options)])


def fleet(options: Namespace) -> int:
    """Many devices with little data: the point is that all are counted."""
    scenario = scenarios.model("I", options.devices, options.records, 10, options.seed)
    outcome = _federate(options, scenario, SAFE_DELTA, options.mechanism, None, patience=3600.0)
    table = report.Result(outcome, scenario, None, None).table(options.seed)
    table["devices_per_second"] = round(outcome.devices / outcome.seconds, 1)
    if options.json:
        print(json.dumps(table))
    else:
        s = outcome.subspace
        print(
            f"{s.devices} of {outcome.devices} devices counted in {outcome.seconds:.0f} s over {outcome.broker}"
        )
        print(
            f"{outcome.cuts} connections lost, {outcome.crashes} crashes, {outcome.retries} retries"
        )
    return 0 if outcome.subspace.devices == outcome.devices else 1


def fetch(options: Namespace) -> int:
    """Download the UCI HAR archive."""
    from sim_devices.datasets.fetch import fetch_har

    found = fetch_har(options.to)
    print(f"{found}\nnow: fsir-sim har --data {options.to}")
    return 0


def _run_with_people(
    options: Namespace, make: Callable[[str | None, int], Scenario], *, paper_first: bool
) -> int:
    scenario = make(None if options.volunteer == "none" else options.volunteer, options.choose or 0)
    if options.shuffle:
        rng = np.random.default_rng(options.seed)
        scenario = replace(scenario, population=with_shuffled_responses(scenario.population, rng))
    deltas = [None, SAFE_DELTA] if paper_first and options.delta is None else [_delta(options)]
    if options.repeat > 1:
        return _repeat(options, scenario, deltas, None if options.six else 2)
    return _run(options, scenario, deltas, dimension=None if options.six else 2, controls=True)


def _delta(options: Namespace) -> float | None:
    if options.delta in (None, "paper"):
        return None if options.delta == "paper" else SAFE_DELTA
    try:
        return float(options.delta)
    except ValueError:
        raise FsirError(
            f"--delta {options.delta!r}: give a number such as 1e-6, or `paper` for n^-1.1"
        ) from None


def _run(
    options: Namespace,
    scenario: Scenario,
    deltas: list[float | None],
    *,
    dimension: int | None = None,
    controls: bool = False,
) -> int:
    """Run the federation (several of them to compare), evaluate, draw, tell."""
    mechanisms = COMPARED if getattr(options, "compare", False) else (options.mechanism,)
    results: list[report.Result] = []
    for mechanism in mechanisms:
        outcome = _federate(options, scenario, deltas[0], mechanism, dimension)
        results.append(report.evaluate(outcome, scenario, controls and not results))
    beside = []
    for delta in deltas[1:] if len(mechanisms) == 1 else []:
        outcome = _federate(options, scenario, delta, options.mechanism, dimension)
        beside.append(report.evaluate(outcome, scenario, False))
    directory: Path = options.out / scenario.population.name
    title = f"{scenario.population.name}: those who took no part, projected"
    png, html = report.write_pictures(results, directory, title)
    if options.json:
        table: dict[str, Any] = results[0].table(options.seed)
        table |= {
            "picture": str(png),
            "page": str(html),
            "caveats": list(scenario.population.caveats),
        }
        table["beside"] = [other.table(options.seed) for other in results[1:] + beside]
        print(json.dumps(table))
    else:
        report.show(results, beside, png, html)
    return 0


def _repeat(
    options: Namespace, scenario: Scenario, deltas: list[float | None], dimension: int | None
) -> int:
    """The same federation with different noise: mean and worst accuracy for each delta."""
    first, tables = options.seed, []
    for delta in deltas:
        found = []
        for seed in range(first, first + options.repeat):
            outcome = _federate(options, scenario, delta, options.mechanism, dimension, seed=seed)
            found.append(report.evaluate(outcome, scenario, False))
        scores = [result.accuracy for result in found if result.accuracy is not None]
        table = found[-1].table(first)
        table |= {"accuracy": float(np.mean(scores)), "worst": min(scores), "accuracies": scores}
        tables.append(table)
        if not options.json:
            g, spent = options.unit_records, table["delta"]
            print(
                f"epsilon {options.epsilon:g}, delta {spent:.2g}, unit of {g}: mean {table['accuracy']:.4f}",
                end="",
            )
            print(
                f", worst {table['worst']:.4f} of {options.repeat} runs, {table['devices']} devices"
            )
    if options.json:
        print(json.dumps(tables[0] | {"beside": tables[1:]}))
    return 0


def _federate(
    options: Namespace,
    scenario: Scenario,
    delta: float | None,
    mechanism: str,
    dimension: int | None,
    *,
    seed: int | None = None,
    patience: float = 300.0,
) -> Outcome:
    setting = Setting(options.epsilon, delta, options.unit_records, mechanism, dimension=dimension)
    task = build(scenario.population, scenario.geometry, setting)
    faults = Faults(
        dropout=options.dropout,
        crash=options.crash,
        late=options.late,
        absent=options.absent,
    )
    with _progress(f"{task.name}, {mechanism}, delta {task.privacy.delta:.1g}") as update:
        return federate(
            scenario.population,
            task,
            broker=options.broker,
            seed=options.seed if seed is None else seed,
            faults=faults,
            progress=update,
            patience=patience,
        )


def _progress(text: str) -> AbstractContextManager[Callable[[int, int], None]]:
    """A bar on a terminal, nothing in a pipe."""
    if not sys.stderr.isatty():
        return nullcontext(lambda done, total: None)
    from sim_devices.results.progress import bar

    return bar(text)
