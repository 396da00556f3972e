"""Arrival delays of eleven carriers: how far private directions are from the one without privacy.

Three designs. `paper`: its seven variables with a public centre and scale, and the clip of the
tables. `uncorrelated`: features from the flights of the five carriers that take no part, and the
same clip. `rehearsed`: the clip from those flights, too (see `rehearsal`). The map to the paper's
variables is linear, public and invertible, so all describe the same directions; but time in the air
and distance are nearly collinear, and their difference, which matters, drowns in the noise on their
covariance.

All angles are between directions in the paper's variables, standardised by the public scale.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from fsir.arrays import Matrix
from fsir.contract import task_from_table
from fsir.estimate.subspace import angles, estimate
from fsir.estimate.totals import Totals
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import first_stage
from fsir.privacy.release import release
from fsir.task.task import Task
from sim_devices.datasets import flights
from sim_devices.datasets.population import DeviceStream, Population
from sim_devices.paper import profiles
from sim_devices.paper.flights import rehearsal
from sim_devices.paper.flights.rehearsal import Design
from sim_devices.paper.merged_release import clip_norm

MECHANISMS = ("gaussian", "iid", "vgm")
DELTA = flights.FLIGHTS**-1.1
SLICES = len(flights.CUTS) + 1
Angles = dict[str, dict[str, float]]


def paper_design(_population: Population, _epsilon: float) -> Design:
    """The paper's variables as they are."""
    p = len(flights.FEATURES)
    return Design(np.eye(p), np.zeros(p), clip_norm(p))


def uncorrelated_design(population: Population, _epsilon: float) -> Design:
    """Features from the carriers that take no part."""
    X, _ = standardised(population.unseen)
    A, centre = rehearsal.uncorrelated(X)
    return Design(A, centre, clip_norm(len(flights.FEATURES)))


def rehearsed_design(population: Population, epsilon: float) -> Design:
    """Features and clip from the carriers that take no part."""
    start = uncorrelated_design(population, epsilon)
    X, y = standardised(population.unseen)
    fleet = rehearsal.Fleet(len(population.devices), flights.FLIGHTS)

    def task(norm: float) -> Task:
        return flight_task(replace(start, norm=norm), epsilon)

    return replace(start, norm=rehearsal.best_clip(task, start.features(X), y, fleet))


DESIGNS: dict[str, Callable[[Population, float], Design]] = {
    "paper": paper_design,
    "uncorrelated": uncorrelated_design,
    "rehearsed": rehearsed_design,
}


def flight_task(design: Design, epsilon: float) -> Task:
    """The task of the carriers: six slices, one direction."""
    return task_from_table(
        {
            "name": "flights",
            "features": {"names": [f"f{j}" for j in range(len(flights.FEATURES))]},
            "response": {"name": flights.RESPONSE, "cuts": list(flights.CUTS)},
            "clip": {"truncate": design.norm, "norm": design.norm},
            "privacy": {"epsilon": epsilon, "delta": DELTA},
            "report": {"records": flights.FLIGHTS},
            "dimension": 1,
        }
    )


def standardised(streams: Sequence[DeviceStream]) -> tuple[Matrix, Matrix]:
    """All flights in the paper's variables by their public scale, and their delays."""
    X = np.vstack([stream.X for stream in streams])
    return (X - flights.CENTRE) / flights.SCALE, np.concatenate([stream.y for stream in streams])


def without_privacy(population: Population) -> Matrix:
    """The direction of all flights together: no clip, no noise."""
    X, y = standardised(population.devices)
    return rehearsal.exact_direction(X, np.searchsorted(flights.CUTS, y, side="left"), SLICES)


class Carriers:
    """The carriers' sums, accumulated once; every call releases them anew."""

    def __init__(self, population: Population, design: Design, epsilon: float) -> None:
        self._design = design
        self._epsilon = epsilon
        self._task = flight_task(design, epsilon)
        self._moments = []
        self._statistics = []
        for stream in population.devices:
            X, y = standardised([stream])
            features = design.features(X)
            moments = Moments(self._task, first_stage(self._task))
            moments.learn_many(features, y)
            self._moments.append(moments)
            self._statistics.append(
                profiles.client_statistics(features[None], y[None], 0, "stated", SLICES)
            )

    def direction(self, mechanism: str, seed: int) -> Matrix:
        """One private direction, in the paper's standardised variables."""
        beta = self._gaussian(seed) if mechanism == "gaussian" else self._paper(mechanism, seed)
        return np.asarray(self._design.A.T @ beta)

    def median_angle(self, target: Matrix, mechanism: str, seeds: Sequence[int]) -> float:
        """Median over seeds of the angle to a direction, in degrees."""
        drawn = (self.direction(mechanism, seed) for seed in seeds)
        return float(np.median([angles(target, direction).max() for direction in drawn]))

    def _gaussian(self, seed: int) -> Matrix:
        """Through the product itself: reports, their sum, the estimate.
        All of it costs (epsilon, delta) once."""
        totals = Totals(first_stage(self._task))
        for k, moments in enumerate(self._moments):
            totals.add(release(moments, SeededNoise(seed, "flights", str(k))))
        return estimate(self._task, totals).basis

    def _paper(self, mechanism: str, seed: int) -> Matrix:
        """The paper as stated: epsilon and delta for the slice means,
        and once more for the covariance."""
        rng = np.random.default_rng([seed, MECHANISMS.index(mechanism)])
        M = np.zeros(())
        Sigma = np.zeros(())
        total = 0
        for one in self._statistics:
            budget = (self._epsilon, DELTA, rng)
            if mechanism == "iid":
                noisy = profiles.merged_iid(one, 1, "stated", *budget)
            else:
                noisy = profiles.merged_vgm(one, profiles.VgmNoise(one.M), 1, *budget)
            M = M + one.n * noisy
            Sigma = Sigma + one.n * profiles.merged_covariance(one, 1, "stated", *budget)
            total += one.n
        return profiles.subspace(M / total, Sigma / total, 1)


def median_angles(
    population: Population, designs: dict[str, Design], seeds: Sequence[int], epsilon: float
) -> Angles:
    """Median over seeds of the angle to the direction without privacy, by design and mechanism."""
    target = without_privacy(population)
    turned: Angles = {}
    for name, design in designs.items():
        carriers = Carriers(population, design, epsilon)
        turned[name] = {
            mechanism: round(carriers.median_angle(target, mechanism, seeds), 2)
            for mechanism in MECHANISMS
        }
    return turned
