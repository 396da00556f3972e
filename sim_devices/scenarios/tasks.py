"""The task that a simulated federation works on, from public knowledge only.

Centre and scale of the features are either fixed constants of the data set (physics, the calendar,
the authors' own scaling) or come from one volunteer, who is then not a device. Nothing here looks
at the data of a device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fsir.arrays import Matrix
from fsir.contract import task_from_table
from fsir.proposal.constants import Expectation
from fsir.proposal.proposal import Proposal
from fsir.task.task import Task
from sim_devices.datasets.filled import longest, shortest
from sim_devices.datasets.population import DataError, DeviceStream, Population
from sim_devices.scenarios.proposed import PublicSample, with_sections

# Devices that two aggregators open together at least, if nobody says how many: the more they are,
# the less noise each has of its own, and the less is promised if both collude.
COHORT = 20


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a user chooses on the command line."""

    epsilon: float = 1.0
    delta: float | None = 1e-6  # None: n^-1.1, to compare with the paper
    unit_records: int = 1
    mechanism: str = "gaussian"
    # At which devices report. None: as many as the shortest stream has; under a proposed task, as
    # many as the longest one has.
    records: int | None = None
    dimension: int | None = None
    cohort: int | None = (
        None  # that two aggregators open together: what is proposed knows the noise
    )


@dataclass(frozen=True, kw_only=True)
class Geometry:
    """Public constants of one data set: standardisation, clips,
    and how many features are screened for."""

    centre: Matrix
    scale: Matrix
    truncate: float
    norm: float
    cuts: tuple[float, ...] = ()
    keep: int = 0  # features kept per column of the screening sums; 0: no screening
    code: str = "slices"  # of the screening report
    final_norm_factor: float = 1.0
    share: float = 0.5
    response: str = "y"


def build(population: Population, geometry: Geometry | PublicSample, setting: Setting) -> Task:
    """The task for these devices."""
    if isinstance(geometry, PublicSample):
        return task_from_table(_proposed(population, geometry, setting))
    n = setting.records or shortest(population)
    table = _common(population, setting, n, geometry.response)
    table["features"]["centre"] = geometry.centre.tolist()
    table["features"]["scale"] = geometry.scale.tolist()
    table["clip"] = {"truncate": geometry.truncate, "norm": geometry.norm}
    if not population.classes:
        table["response"]["cuts"] = list(geometry.cuts)
    if geometry.keep:
        table["screening"] = _screening(population, geometry)
    return task_from_table(table)


def _proposed(population: Population, sample: PublicSample, setting: Setting) -> dict[str, Any]:
    """One report about as many records as the longest stream has, under the sample's map."""
    n = setting.records or longest(population)
    table = _common(population, setting, n, sample.response)
    if not population.classes:
        table["response"]["cuts"] = list(sample.cuts)
    sections = dict(proposal_of(population, sample, setting).sections)
    if setting.mechanism != "gaussian":  # whose budget alone can be split
        sections.pop("privacy", None)
    return with_sections(table, sections)


def proposal_of(population: Population, sample: PublicSample, setting: Setting) -> Proposal:
    """What the sample proposes for these devices, and why."""
    lengths = [len(stream) for stream in population.devices]
    return sample.proposal(population.classes, expectation(lengths, setting))


def expectation(lengths: Sequence[int], setting: Setting) -> Expectation:
    """What is known of devices with so many records each before anybody has seen one."""
    n = setting.records or max(lengths)
    asked = [min(length, n) for length in lengths]
    return Expectation(
        devices=len(asked),
        records=round(sum(asked) / len(asked)),  # with a label, on average
        epsilon=setting.epsilon,
        delta=_delta(setting, n),
        unit_records=setting.unit_records,
        cohort=setting.cohort,
    )


def _delta(setting: Setting, n: int) -> float:
    return n**-1.1 if setting.delta is None else setting.delta


def _common(population: Population, setting: Setting, n: int, response: str) -> dict[str, Any]:
    table: dict[str, Any] = {
        "name": population.name,
        "features": {"names": list(population.features)},
        "response": {"name": response},
        "privacy": {
            "epsilon": setting.epsilon,
            "delta": _delta(setting, n),
            "mechanism": setting.mechanism,
            "unit_records": setting.unit_records,
        },
        "report": {"records": n},
    }
    if population.classes:
        table["response"]["classes"] = list(population.classes)
    if setting.dimension is not None:
        table["dimension"] = setting.dimension
    return table


def _screening(population: Population, geometry: Geometry) -> dict[str, Any]:
    columns = len(population.classes) - (geometry.code == "simplex")
    return {
        "method": "dense",
        "records": "same",
        "share": geometry.share,
        "select": "per_slice",
        "keep": geometry.keep,
        "limit": min(geometry.keep * columns, len(population.features)),
        "code": geometry.code,
        "quorum": len(population.devices),
        "wait_seconds": 20.0,
        "final_norm_factor": geometry.final_norm_factor,
    }


def with_volunteer(population: Population, name: str) -> tuple[Population, DeviceStream]:
    """The population without one of its devices, and that person's records,
    which become public knowledge."""
    for stream in population.devices:
        if stream.device == name:
            rest = tuple(other for other in population.devices if other.device != name)
            note = f"{name} volunteered: that person's records are public and took no part"
            return replace(population, devices=rest, caveats=(*population.caveats, note)), stream
    names = ", ".join(stream.device for stream in population.devices)
    raise DataError(f"volunteer {name!r}: not a device; there are {names}")


def volunteer_centre(volunteer: DeviceStream) -> Matrix:
    """The mean of the volunteer's classes, each counting the same,
    so that it does not depend on the person's day."""
    labels = sorted(set(volunteer.y.tolist()))
    means = [volunteer.X[volunteer.y == label].mean(axis=0) for label in labels]
    return np.asarray(np.mean(means, axis=0))
