"""Arrival delays of eleven carriers: how far private directions are from the one without privacy.

Two sets of features. `paper`: its seven variables with a public centre and scale. `public`: the same, but time in the
air is taken less the time that the distance usually takes (8 miles a minute and 20 minutes for the ends). The map to
the paper's variables is linear, public and invertible, so both describe the same directions; but air time and distance
are nearly collinear, and their difference, which matters, would drown in the noise on the covariance.

All angles are between directions in the paper's variables, standardised by the public scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsir.moments import Moments
from fsir.noise import SeededNoise
from fsir.plan import first_stage
from fsir.release import Totals, release
from fsir.subspace import angles, estimate
from fsir.task import Task
from sim_devices.datasets import flights
from sim_devices.datasets.population import Population
from sim_devices.experiments import profiles
from sim_devices.experiments.clip import clip_norm
from sim_devices.experiments.merged_release import ExactMoments, noiseless_basis

Array = NDArray[np.float64]
MECHANISMS = ("gaussian", "iid", "vgm")
FEATURE_SETS = ("paper", "public")
MILES_PER_MINUTE, GROUND_MINUTES, USUAL_DIFFERENCE = 8.0, 20.0, 15.0
_AIR, _DISTANCE = flights.FEATURES.index("air_time"), flights.FEATURES.index("distance")


@dataclass(frozen=True, eq=False)
class Geometry:
    """Features `A x` of a flight x in the paper's variables, with public centre and scale."""

    A: Array
    centre: Array
    scale: Array

    def standardised(self, X: Array) -> Array:
        """Flights in these features."""
        return np.asarray((X @ self.A.T - self.centre) / self.scale)

    def back(self, beta: Array) -> Array:
        """A direction in these features as one in the paper's variables, standardised."""
        return np.asarray(flights.SCALE[:, None] * (self.A.T @ (beta / self.scale[:, None])))


def geometry(name: str) -> Geometry:
    """The features `paper` or `public`."""
    A, centre, scale = np.eye(len(flights.FEATURES)), flights.CENTRE.copy(), flights.SCALE.copy()
    if name == "public":
        A[_AIR, _DISTANCE] = -1.0 / MILES_PER_MINUTE
        centre[_AIR], scale[_AIR] = GROUND_MINUTES, USUAL_DIFFERENCE
    return Geometry(A, centre, scale)


def flight_task(features: Geometry, epsilon: float, delta: float) -> Task:
    """The task of the carriers: six slices, one direction, the rule for the clip as everywhere."""
    C = clip_norm(len(flights.FEATURES))
    return Task.from_table(
        {
            "name": "flights",
            "features": {
                "names": [f"f{j}" for j in range(len(flights.FEATURES))],
                "centre": features.centre.tolist(),
                "scale": features.scale.tolist(),
            },
            "response": {"name": flights.RESPONSE, "cuts": list(flights.CUTS)},
            "clip": {"truncate": C, "norm": C},
            "privacy": {"epsilon": epsilon, "delta": delta},
            "report": {"records": flights.FLIGHTS},
            "dimension": 1,
        }
    )


def without_privacy(population: Population) -> Array:
    """The direction of all flights together: no clip, no noise."""
    features = geometry("paper")
    X = features.standardised(np.vstack([stream.X for stream in population.devices]))
    slices = np.searchsorted(flights.CUTS, np.concatenate([stream.y for stream in population.devices]), side="left")
    one_hot = np.eye(len(flights.CUTS) + 1)[slices]
    return features.back(noiseless_basis(ExactMoments(len(X), X.T @ one_hot, one_hot.sum(axis=0), X.T @ X), 1))


class Carriers:
    """The carriers' sums, accumulated once; every call releases them anew."""

    def __init__(self, population: Population, features: Geometry, epsilon: float) -> None:
        self._features, self._epsilon = features, epsilon
        self._delta = flights.FLIGHTS**-1.1
        self._task = flight_task(features, epsilon, self._delta)
        self._moments = []
        self._statistics = []
        for stream in population.devices:
            moments = Moments(self._task, first_stage(self._task))
            moments.learn_many(stream.X @ features.A.T, stream.y)
            self._moments.append(moments)
            X = features.standardised(stream.X)
            slices = len(flights.CUTS) + 1
            self._statistics.append(profiles.client_statistics(X[None], stream.y[None], 0, "stated", slices))

    def direction(self, mechanism: str, seed: int) -> Array:
        """One private direction, in the paper's standardised variables."""
        return self._features.back(self._gaussian(seed) if mechanism == "gaussian" else self._paper(mechanism, seed))

    def _gaussian(self, seed: int) -> Array:
        """Through the product itself: reports, their sum, the estimate. All of it costs (epsilon, delta) once."""
        totals = Totals(first_stage(self._task))
        for k, moments in enumerate(self._moments):
            totals.add(release(moments, SeededNoise(seed, "flights", str(k))))
        return estimate(self._task, totals).basis

    def _paper(self, mechanism: str, seed: int) -> Array:
        """The paper as stated: epsilon and delta for the slice means, and once more for the covariance."""
        rng = np.random.default_rng([seed, MECHANISMS.index(mechanism)])
        M, Sigma, total = np.zeros(()), np.zeros(()), 0
        for one in self._statistics:
            budget = (self._epsilon, self._delta, rng)
            if mechanism == "iid":
                noisy = profiles.merged_iid(one, 1, "stated", *budget)
            else:
                noisy = profiles.merged_vgm(one, profiles.VgmNoise(one.M), 1, *budget)
            M = M + one.n * noisy
            Sigma = Sigma + one.n * profiles.merged_covariance(one, 1, "stated", *budget)
            total += one.n
        return profiles.subspace(M / total, Sigma / total, 1)


def median_angles(population: Population, seeds: Sequence[int], epsilon: float) -> dict[str, dict[str, float]]:
    """Median over seeds of the angle to the direction without privacy, by features and mechanism."""
    target = without_privacy(population)
    found: dict[str, dict[str, float]] = {}
    for name in FEATURE_SETS:
        carriers = Carriers(population, geometry(name), epsilon)
        found[name] = {
            mechanism: round(
                float(np.median([angles(target, carriers.direction(mechanism, seed)).max() for seed in seeds])), 2
            )
            for mechanism in MECHANISMS
        }
    return found
