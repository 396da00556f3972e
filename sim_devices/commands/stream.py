"""`fsir-sim stream`: a federation that goes on for months."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from fsir.net.files import writing
from fsir.privacy.rounds.groups import group_cost, habit_cost
from fsir.task.task import Task
from sim_devices.commands.options import picture_folder
from sim_devices.commands.trust import add_trust, cohort_of
from sim_devices.results.progress import watched
from sim_devices.scenarios import scenarios
from sim_devices.scenarios.proposed import PublicSample
from sim_devices.scenarios.tasks import Setting, build
from sim_devices.stream.following import Point, follow
from sim_devices.stream.months import Months, Plan
from sim_devices.stream.picture import draw
from sim_devices.stream.sources import Endless, Source
from sim_devices.stream.tasks import proposed_for

_ABOUT = """\
Devices that report again and again about fresh records, in one process: how good is the subspace
for people who take no part, round by round, beside a federation that reported once and beside
what a public sample alone gives?

The noise of rounds is correlated, so that later rounds take back noise of earlier ones: a record
costs what it would cost in a single report. What somebody does every time costs more, and is told
at the end (docs/streams.md)."""
_EXAMPLES = """\
examples:
  fsir-sim stream                                half a year of invented people, a report a week
  fsir-sim stream har --rounds 10                the people of UCI HAR, drawn again for each round
  fsir-sim stream hapt --rounds 24 --epsilon 0.5 --json
"""
PAGE = {
    "description": _ABOUT,
    "epilog": _EXAMPLES,
    "formatter_class": argparse.RawDescriptionHelpFormatter,
}
_VOLUNTEER = "subject-01"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "people",
        nargs="?",
        choices=("invented", "har", "hapt"),
        default="invented",
        help="invented people whose gait changes with season, shoes and phone (the default), or "
        "an endless stream of real ones, in which nothing changes",
    )
    parser.add_argument("--rounds", type=int, default=26, help="reports of a device (default: 26)")
    parser.add_argument("--epsilon", type=float, default=1.0, help="for a record (default: 1)")
    parser.add_argument(
        "--every", type=float, default=7.0, metavar="DAYS", help="between two rounds (default: 7)"
    )
    parser.add_argument("--devices", type=int, default=20, help="invented ones (default: 20)")
    parser.add_argument(
        "--records", type=int, default=600, help="of a report, of invented people (default: 600)"
    )
    parser.add_argument("--volunteer", help="whose records are public (default: the first person)")
    parser.add_argument("--data", type=Path, metavar="PATH", help="of the set (default: FSIR_DATA)")
    add_trust(parser)
    parser.add_argument("--seed", type=int, default=1, help="of people and noise (default: 1)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the picture")
    parser.add_argument("--json", action="store_true", help="every round, for programs")


def run(options: argparse.Namespace) -> int:
    """Run it."""
    directory = picture_folder(options.out / f"stream-{options.people}")
    with watched("stream", "rounds") as moved:
        moved(0, options.rounds)
        source = _source(options)
        population = source.scenario.population
        sample = source.scenario.geometry
        assert isinstance(sample, PublicSample)
        cohort = cohort_of(options, len(population.devices))
        setting = Setting(epsilon=options.epsilon, cohort=cohort)
        single = _opened(build(population, sample, setting), cohort)
        task = _opened(proposed_for(population, sample, setting, options.rounds), cohort)
        points = []
        for point in follow(source, task, single, options.rounds, options.seed):
            points.append(point)
            moved(point.round, options.rounds)
    title = (
        f"{options.people}: {len(population.devices)} devices, epsilon {options.epsilon:g} for a "
        f"record, {single.report.records} records a round"
        + ("" if cohort is None else f", sums of {len(population.devices)} opened by two")
    )
    with writing("--out", directory):
        picture = draw(points, directory / "stream.png", title)
    if options.json:
        rows = [asdict(point) for point in points]
        print(json.dumps({"rounds": rows, "picture": str(picture), "caveats": source.caveats}))
    else:
        _tell(task, points, source.caveats, picture)
    return 0


def _opened(task: Task, cohort: int | None) -> Task:
    """The task, with two aggregators if sums of a cohort are to be opened."""
    if cohort is None:
        return task
    from sim_devices.network.parties import secured  # which needs `cryptography`

    return secured(task, cohort)


def _source(options: argparse.Namespace) -> Source:
    if options.people == "invented":
        plan = Plan(
            devices=options.devices,
            unseen=max(3, options.devices * 3 // 7),
            records=options.records,
            windows=40,
            every=options.every,
            rounds=options.rounds,
            seed=options.seed,
        )
        return Months(plan)
    load = scenarios.har if options.people == "har" else scenarios.hapt
    volunteer = options.volunteer or _VOLUNTEER
    scenario = load(options.data, False, volunteer, None)
    longest = max(map(len, scenario.population.devices))
    return Endless(scenario, longest, options.seed)


def _tell(task: Task, points: Sequence[Point], caveats: Sequence[str], picture: Path) -> None:
    print("round  goes on  reported once  no federation  expected  error  remembers")
    step = max(1, len(points) // 13)
    for point in [*points[:-1:step], points[-1]]:
        expected = "" if point.expected is None else f"{point.expected:.1%}"
        print(
            f"{point.round:5d}  {point.followed:7.1%}  {point.once:13.1%}  {point.alone:13.1%}  "
            f"{expected:>8}  {point.error:5.2f}  from {point.since}"
        )
    for line in _notes(task, points):
        print(line)
    for caveat in caveats:
        print(f"note: {caveat}")
    print(f"picture: {picture}")


def _notes(task: Task, points: Sequence[Point]) -> list[str]:
    mu = group_cost(task, 1)
    lines = [
        f"cost mu for one record {mu:.3f}, for a hundred {group_cost(task, 100):.2f}, "
        f"for one record in each of {task.rounds} rounds (a habit) {habit_cost(task):.2f}"
    ]
    last = points[-1]
    if last.drift is not None:
        lines.append(f"the federation has drifted: since round {last.drift}")
    return lines
