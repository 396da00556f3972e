"""Every curve of one table: against the budget, the number of devices, and their records."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fsir.errors import FsirError
from fsir.estimate.subspace import projection_loss
from sim_devices.datasets.population import DeviceStream
from sim_devices.own.cells import Cell, Laboratory, Point, measure_of, shortened
from sim_devices.own.notes import about_people, about_streams
from sim_devices.own.setup import Own
from sim_devices.own.uncertain import standard_error
from sim_devices.results.result import Result, evaluate
from sim_devices.scenarios.control import Control
from sim_devices.scenarios.controls import beside
from sim_devices.scenarios.verdict import Fleet, Tried, of_fleet

AXES = ("epsilon", "devices", "records")
_OF_DEVICES = (0.25, 0.5, 1.0, 2.0, 4.0)  # of those that there are, if nobody says how many
_OF_RECORDS = (0.25, 0.5, 1.0)
FEWEST = 2

Curves = dict[str, tuple[Point, ...]]  # by axis


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What is tried. Without devices or records, parts and multiples of what there is."""

    epsilons: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)
    devices: tuple[int, ...] = ()
    records: tuple[int, ...] = ()

    @property
    def epsilon(self) -> float:
        """The budget that it is all about: the one nearest to 1."""
        return min(self.epsilons, key=lambda epsilon: abs(math.log(epsilon)))


@dataclass(frozen=True, eq=False, kw_only=True)
class Study:
    """All that came out."""

    own: Own
    headline: Point  # at all devices and all records
    result: Result  # the same, beside its controls
    without: Control  # the best that is public
    curves: Curves

    @property
    def points(self) -> list[tuple[str, Point]]:
        """Every point of every curve, and its axis."""
        return [(axis, point) for axis, points in self.curves.items() for point in points]

    @property
    def notes(self) -> list[str]:
        """What belongs beside the figures."""
        found = self.result
        return [*found.scenario.population.caveats, *found.outcome.subspace.notes]

    def loss(self, point: Point) -> float | None:
        """Where the response is a number: how far the directions are from those without noise.

        Of as many as both have: with less noise there may be more that stand out of it.
        """
        quiet = self.result.beside.quiet
        if quiet is None or quiet.task.response.classes:
            return None
        mine = point.outcome.subspace
        d = min(mine.dimension, quiet.subspace.dimension)
        return projection_loss(mine.basis[:, :d], quiet.subspace.basis[:, :d])


def axes(own: Own, wishes: Wishes) -> dict[str, list[Cell]]:
    """The cells of every curve; each has the one that it is all about."""
    K = len(own.devices)
    n = max(wishes.records, default=own.longest)
    if n > own.longest:
        asked = own.style.said("records", n)
        raise FsirError(f"{asked}: no device has more than {own.longest}; give at most that")
    if few := [count for count in wishes.devices if count < FEWEST]:
        asked = own.style.said("devices", few[0])
        raise FsirError(f"{asked}: a federation takes at least {FEWEST}")
    middle = Cell(wishes.epsilon, K, n)
    devices = wishes.devices or [max(round(K * part), FEWEST) for part in _OF_DEVICES]
    records = wishes.records or [max(round(n * part), 1) for part in _OF_RECORDS]
    return {
        "epsilon": [middle._replace(epsilon=epsilon) for epsilon in sorted(set(wishes.epsilons))],
        "devices": [middle._replace(devices=count) for count in sorted({*devices, K})],
        "records": [middle._replace(records=count) for count in sorted({*records, n})],
    }


def study(
    own: Own, wishes: Wishes, laboratory: Laboratory, progress: Callable[[int, int], None]
) -> Study:
    """Run every cell once, and the controls once beside the cell that it is all about."""
    cells = axes(own, wishes)
    every = list(dict.fromkeys(cell for axis in AXES for cell in cells[axis]))
    found: dict[Cell, Point] = {}
    for done, cell in enumerate(every):
        progress(done, len(every))
        found[cell] = laboratory.run(cell)
    progress(len(every), len(every))
    middle = next(cell for cell in cells["epsilon"] if cell.epsilon == wishes.epsilon)
    curves = {axis: tuple(found[cell] for cell in cells[axis]) for axis in AXES}
    return _told(own, found[middle], curves)


def _told(own: Own, headline: Point, curves: Curves) -> Study:
    """The point that it is all about beside its controls, and what is to be said of it."""
    task = headline.outcome.task
    unseen = own.scenario.population.unseen
    streams = [shortened(stream, headline.cell.records) for stream in own.devices]
    population = replace(own.scenario.population, devices=tuple(streams))
    scenario = replace(own.scenario, population=population)
    found = beside(scenario, task, headline.outcome.subspace)
    without = found.best_public
    if without is None:
        raise AssertionError("whoever has a public sample has controls that need nothing else")
    mine = measure_of(headline.outcome)
    error = standard_error(unseen, mine)
    gain_error = standard_error(unseen, mine, without.measure)
    notes = (
        *own.notes,
        *about_streams(
            own, task, headline.cell, [point.cell.records for point in curves["records"]]
        ),
        *about_people(own, error, gain_error),
        *_simulated(curves),
    )
    scenario = replace(scenario, population=replace(population, caveats=notes))
    result = evaluate(headline.outcome, scenario)
    verdict = of_fleet(
        headline.score,
        without,
        _fleet(headline, streams, curves, without, own),
        numeric=not task.response.classes,
        people=len(unseen),
        error=gain_error,
    )
    return Study(
        own=own,
        headline=headline,
        result=replace(result, beside=found, verdict=verdict, error=error, gain_error=gain_error),
        without=without,
        curves=curves,
    )


def _fleet(
    headline: Point, streams: Sequence[DeviceStream], curves: Curves, without: Control, own: Own
) -> Fleet:
    lengths = {len(stream) for stream in streams}
    more = "" if len(lengths) == 1 else "up to "
    unseen = own.scenario.population.unseen

    def tried(name: str, point: Point) -> Tried:
        error = standard_error(unseen, measure_of(point.outcome), without.measure)
        return Tried(name, point.score, error)

    return Fleet(
        devices=headline.cell.devices,
        records=f"{more}{max(lengths)}",
        epsilon=headline.cell.epsilon,
        larger=[
            tried(f"{point.cell.devices} devices", point)
            for point in curves["devices"]
            if point.simulated
        ],
        budgets=[
            tried(f"epsilon {point.cell.epsilon:g}", point)
            for point in curves["epsilon"]
            if point.cell.epsilon > headline.cell.epsilon
        ],
        runs=headline.scores,
    )


def _simulated(curves: Curves) -> list[str]:
    drawn = [str(point.cell.devices) for point in curves["devices"] if point.simulated]
    if not drawn:
        return []
    return [
        f"simulated: {' and '.join(drawn)} devices are those that there are, and others whose "
        "records are drawn from theirs again; that tells what noise costs, not what people would "
        "add who are unlike these"
    ]
