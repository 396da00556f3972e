"""The data sets as federations: who takes part, and the public constants of the task."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsir.arrays import Matrix
from fsir.proposal.proposal import Proposal
from fsir.task.public_sample import TRUNCATE, forward_selection, standard
from fsir.task.slicing import Slicing
from sim_devices.datasets import flights as flights_data
from sim_devices.datasets import models
from sim_devices.datasets import watch as watch_data
from sim_devices.datasets.filled import CAVEAT, longest, shortest
from sim_devices.datasets.population import DataError, DeviceStream, Population, with_columns
from sim_devices.meanwhile import Meanwhile
from sim_devices.scenarios import lda
from sim_devices.scenarios.proposed import Begun, PublicSample, varying_columns
from sim_devices.scenarios.tasks import (
    Geometry,
    Setting,
    expectation,
    volunteer_centre,
    with_volunteer,
)

# Features from a volunteer's records. Taken after a look at 4, 6, 8 and 12 on HAPT, unseen people
# included: means are the same to 0.002, but with 6 the worst of ten runs was .9678
# (docs/simulator.md).
CHOSEN = 8


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A population, its public constants, and what is known beside them."""

    population: Population
    geometry: Geometry | PublicSample
    volunteer: DeviceStream | None = None
    truth: Matrix | None = None  # the basis that a model was simulated with
    # The same people with all of their features, for controls, where the task has fewer.
    whole: Population | None = None
    public: DeviceStream | None = None  # the volunteer, with all features
    called: str = "the volunteer"  # what the public sample is called beside a result
    # How one would learn from the sample alone, by the name of each way.
    ways: Mapping[str, Callable[[Matrix, NDArray[Any]], lda.Linear]] = field(
        default_factory=lambda: {"plain LDA": lda.plain, "shrunken LDA": lda.shrunken}
    )


def data_directory() -> Path:
    """Where real data are looked for without --data."""
    return Path(os.environ.get("FSIR_DATA", "../shared/data"))


def proposed(population: Population, volunteer: str, response: str) -> Scenario:
    """Everything that the task knows is proposed from the volunteer's records (`fsir.proposal`):
    devices correct what these say in one report."""
    rest, person = with_volunteer(population, volunteer)
    columns = varying_columns(person)
    notes = [f"map, centres and clip of the task come from {volunteer}'s records alone"]
    if shortest(rest) < longest(rest):
        notes.append(CAVEAT)
    noted = replace(rest, caveats=(*rest.caveats, *notes))
    sample = person.with_columns(columns)
    return Scenario(
        population=with_columns(noted, columns),
        geometry=PublicSample(sample, response),
        volunteer=sample,
        whole=rest,
        public=person,
    )


def activities(
    population: Population, volunteer: str | None, chosen: int | None = 0, norm: float = 5.0
) -> Scenario:
    """People with a phone at the waist, features scaled to about [-1, 1].

    chosen: so many features are taken from the volunteer's public records, as by `fsir-aggregator
    task new --keep`. If 0, a first report screens all of them, and four are kept per direction. If
    None, the volunteer's records propose the whole task; without a volunteer it is as with 0.

    `norm` clips records around the volunteer's centre to somewhat less than their usual length:
    noise is proportional to it, and a shortened record still points the right way. Around zero
    records are about 20 long: a centre pays. These constants were chosen on UCI HAR
    (docs/estimate.md) and serve the other sets of the kind unchanged.
    """
    if chosen is None and volunteer is not None:
        return proposed(population, volunteer, "activity")
    if chosen:
        return _from_public_sample(population, volunteer, chosen)
    p = len(population.features)
    geometry = Geometry(
        centre=np.zeros(p),
        scale=np.ones(p),
        truncate=1.0,
        norm=min(18.0, math.sqrt(p)),
        keep=4,
        code="simplex",
        share=0.6,
        final_norm_factor=0.55,
        response="activity",
    )
    if volunteer is None:
        return Scenario(population=population, geometry=geometry)
    population, person = with_volunteer(population, volunteer)
    norm = min(norm, 2.0 * math.sqrt(p))
    centre = volunteer_centre(person)
    geometry = replace(geometry, centre=centre, truncate=2.0, norm=norm, final_norm_factor=0.6)
    return Scenario(population=population, geometry=geometry, volunteer=person)


def _from_public_sample(population: Population, volunteer: str | None, chosen: int) -> Scenario:
    """One report, about features that tell the volunteer's classes apart:
    what `fsir-aggregator task new --plain` writes."""
    if volunteer is None:
        raise DataError(
            f"--choose {chosen}: features are chosen from a volunteer's records; name one with "
            "--volunteer"
        )
    whole, public = with_volunteer(population, volunteer)
    slices = Slicing(population.classes).slices_of(public.y)
    columns = sorted(forward_selection(public.X, slices, chosen))
    rest = with_columns(whole, columns)
    person = public.with_columns(columns)
    constants = standard(person.X)
    geometry = Geometry(
        centre=constants.centre,
        scale=constants.scale,
        truncate=TRUNCATE,
        norm=min(constants.norm, TRUNCATE * math.sqrt(len(columns))),
        response="activity",
    )
    note = (
        f"{volunteer}'s records chose the features; how many, and the allowance for strangers, "
        "were tuned on HAPT"
    )
    return Scenario(
        population=replace(rest, caveats=(*rest.caveats, note)),
        geometry=geometry,
        volunteer=person,
        whole=whole,
        public=public,
    )


def har(path: Path | None, levels: bool, volunteer: str | None, chosen: int | None = 0) -> Scenario:
    """UCI HAR: 21 training subjects are devices, 9 test subjects are unseen."""
    from sim_devices.datasets.har import har as load

    return activities(load(path or data_directory() / "uci_har", levels), volunteer, chosen)


def hapt(
    path: Path | None, levels: bool, volunteer: str | None, chosen: int | None = 0
) -> Scenario:
    """The continuous recordings behind UCI HAR, through the agent's own signal pipeline."""
    from sim_devices.datasets.hapt import hapt as load

    return activities(load(path or data_directory() / "hapt", levels), volunteer, chosen)


def synthetic_har(
    devices: int,
    windows: int,
    levels: bool,
    volunteer: str | None,
    seed: int,
    chosen: int | None = 0,
    begun: Begun | None = None,
) -> Scenario:
    """Invented people, 50 Hz signals, the agent's own features: no download.

    Where the first person's records make the task, `first_proposal` may have begun with it.
    """
    from sim_devices.datasets.synthetic_har import synthetic_har as generate

    unseen = max(3, devices * 3 // 7)
    people = devices + unseen + (volunteer is not None)
    population = generate(people, windows, seed, unseen=unseen, levels=levels)
    scenario = activities(population, volunteer, chosen)
    sample = scenario.geometry
    if begun is None or not isinstance(sample, PublicSample):
        return scenario
    return replace(scenario, geometry=replace(sample, begun=begun))


def first_proposal(devices: int, windows: int, levels: bool, seed: int, setting: Setting) -> Begun:
    """What the first of invented people proposes for a setting, who is the same alone."""
    from sim_devices.datasets.synthetic_har import first

    def proposal() -> Proposal:
        alone = first(windows, seed, levels=levels)
        stream = alone.devices[0]
        sample = PublicSample(stream.with_columns(varying_columns(stream)), "activity")
        return sample.proposal(alone.classes, expected)

    expected = expectation([windows] * devices, setting)
    return {expected: Meanwhile(proposal)}


def watch(path: Path | None, volunteer: str | None = None) -> Scenario:
    """Shoulder exercises with a smartwatch."""
    population = watch_data.watch(path)
    if volunteer is not None:
        return proposed(population, volunteer, "exercise")
    p = len(population.features)
    geometry = Geometry(
        centre=watch_data.CENTRE,
        scale=watch_data.SCALE,
        truncate=3.0,
        norm=math.sqrt(p),
        response="exercise",
    )
    return Scenario(population=population, geometry=geometry)


def flights(path: Path | None, seed: int) -> Scenario:
    """Carriers as devices, arrival delay as response."""
    population = flights_data.flights(seed, path=path)
    p = len(population.features)
    geometry = Geometry(
        centre=flights_data.CENTRE,
        scale=flights_data.SCALE,
        truncate=3.0,
        norm=math.sqrt(p),
        cuts=flights_data.CUTS,
        response=flights_data.RESPONSE,
    )
    return Scenario(population=population, geometry=geometry)


def model(name: models.Model, devices: int, n: int, p: int, seed: int) -> Scenario:
    """One of the paper's five models, in low dimension."""
    population = models.population(name, devices, n, p, seed)
    cuts = () if population.classes else models.cut_points(name, p, "low")
    geometry = Geometry(
        centre=np.zeros(p),
        scale=np.ones(p),
        truncate=4.0,
        norm=1.14 * math.sqrt(p),
        cuts=cuts,
    )
    truth = models.true_basis(name, p, "low", np.random.default_rng(seed))
    return Scenario(population=population, geometry=geometry, truth=truth)
