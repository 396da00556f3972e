"""The sets of the grid: who can be public in each, and the federation of all others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sim_devices.datasets.population import Population
from sim_devices.scenarios.scenarios import Scenario, data_directory, proposed
from sim_devices.worth.bundled import PUBLIC, SHAPES, bundled

_PEOPLE = {"har": "activity", "hapt": "activity", "watch": "exercise"}  # set -> its response
_PAIRS = ("har", "hapt")  # where neighbouring windows overlap, and are asked to be hidden together
SETS = (*_PEOPLE, *SHAPES)


@dataclass(frozen=True, kw_only=True)
class Set:
    """One set, and its federations: one for each choice of what is public."""

    name: str
    about: str
    chosen: tuple[int, ...]  # which volunteers or splits are run
    pairs: bool  # whether two consecutive records are hidden together, too
    scenario: Callable[[int], Scenario]


def load(name: str, *, seed: int, splits: int, every: int) -> Set:
    """The set of this name; `DataError` where its data or its package are missing."""
    return _people(name, every) if name in _PEOPLE else _splits(name, seed, splits)


def _people(name: str, every: int) -> Set:
    population = _population(name)
    devices = population.devices
    chosen = tuple(range(0, len(devices), every))
    return Set(
        name=name,
        about=f"{len(devices) - 1} people as devices, {len(population.unseen)} unseen people, "
        f"{len(chosen)} of {len(devices)} once as the volunteer",
        chosen=chosen,
        pairs=name in _PAIRS,
        scenario=lambda k: proposed(population, devices[k].device, _PEOPLE[name]),
    )


def _population(name: str) -> Population:
    # Each brings much along: only what is asked for is loaded.
    if name == "har":
        from sim_devices.datasets.har import har

        return har(data_directory() / "uci_har", False)
    if name == "hapt":
        from sim_devices.datasets.hapt import hapt

        return hapt(data_directory() / "hapt", False)
    from sim_devices.datasets.watch import watch

    return watch()


def _splits(name: str, seed: int, splits: int) -> Set:
    table = bundled(name)
    shape = SHAPES[name]

    def scenario(k: int) -> Scenario:
        return proposed(table.split(shape, np.random.default_rng([seed, k])), PUBLIC, "class")

    unseen = len(table.X) - shape.public - shape.devices * shape.records
    return Set(
        name=name,
        about=f"{shape.devices} devices of {shape.records} records, {shape.public} public records, "
        f"{unseen} unseen ones, {splits} random splits",
        chosen=tuple(range(splits)),
        pairs=False,
        scenario=scenario,
    )
