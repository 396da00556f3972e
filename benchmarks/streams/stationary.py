"""Models I to V where nothing changes: the loss after many rounds, over that without noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fsir.arrays import Matrix
from fsir.estimate.rounds.memory import remember
from fsir.estimate.subspace import estimate, projection_loss
from fsir.task.task import Task
from sim_devices.datasets import models
from sim_devices.scenarios import scenarios
from sim_devices.scenarios.evaluation import noiseless
from sim_devices.scenarios.tasks import Setting, build
from sim_devices.stream.known import known_task, whitened, whitening
from sim_devices.stream.rounds import Fleet
from sim_devices.stream.tasks import with_rounds
from sim_devices.stream.turning import model_round

DEVICES = 20
RECORDS = 500
FEATURES = 10
ROUNDS = 52
SEEDS = 8
QUIET = 20.0  # epsilon: less than a hundredth of the noise's variance
BARS = {f"model {name}, correlated over the floor": "<= 1.2" for name in models.MODELS} | {
    f"model {name}, correlated over independent": "<= 0.5" for name in models.MODELS
}


def task_of(name: models.Model, devices: int = DEVICES):
    """The task of one report as the paper's tables have it; epsilon 1."""
    scenario = scenarios.model(name, devices, RECORDS, FEATURES, 1)
    setting = Setting(dimension=models.dimension(name))
    return build(scenario.population, scenario.geometry, setting)


def loss(name: models.Model, rounds: int, seeds: int, devices: int = DEVICES) -> dict[str, float]:
    """Mean losses after so many rounds of the same records.

    The floor is without noise: of the same task, and of that of the paper's tables; or with next to
    none, where the covariance is shrunk as it is with noise.
    """
    base = known_task(name, devices, RECORDS, FEATURES)
    tasks = {
        "correlated": with_rounds(base, rounds),
        "independent": with_rounds(base, rounds, noise="independent"),
        "floor": with_rounds(noiseless(base), rounds),
        "quiet": with_rounds(replace(base, privacy=base.privacy._replace(epsilon=QUIET)), rounds),
        "usual floor": with_rounds(noiseless(task_of(name, devices)), rounds),
    }
    found: dict[str, list[float]] = {kind: [] for kind in tasks}
    for seed in range(seeds):
        for kind, lost in _losses(name, tasks, seed, devices).items():
            found[kind].append(lost)
    return {kind: float(np.mean(values)) for kind, values in found.items()}


def _losses(
    name: models.Model, tasks: dict[str, Task], seed: int, devices: int
) -> dict[str, float]:
    """Of each task, after its rounds."""
    rng = np.random.default_rng([11, seed])
    basis = models.true_basis(name, FEATURES, "low", rng)
    fleets = {kind: Fleet(task, seed) for kind, task in tasks.items()}
    maps = {kind: whitening(name, FEATURES) for kind in tasks}
    maps["usual floor"] = np.eye(FEATURES)
    for round in range(1, tasks["floor"].rounds + 1):
        streams = model_round(name, devices, RECORDS, basis, rng)
        for kind, fleet in fleets.items():
            fleet.report(round, whitened(streams, maps[kind]))
    return {
        kind: projection_loss(maps[kind] @ last_basis(fleet), basis)
        for kind, fleet in fleets.items()
    }


def last_basis(fleet: Fleet) -> Matrix:
    """What the rounds so far give."""
    return estimate(fleet.task, remember(fleet.task, fleet.history).totals).basis


def losses() -> dict[str, float]:
    """All models; the floor is the lowest of the three."""
    figures = {}
    for name in models.MODELS:
        found = loss(name, ROUNDS, SEEDS)
        floor = min(found["floor"], found["quiet"], found["usual floor"])
        figures[f"model {name}, loss with correlated noise"] = found["correlated"]
        figures[f"model {name}, loss without noise, same task"] = found["floor"]
        figures[f"model {name}, loss with next to no noise"] = found["quiet"]
        figures[f"model {name}, loss without noise, usual task"] = found["usual floor"]
        figures[f"model {name}, correlated over the floor"] = found["correlated"] / floor
        figures[f"model {name}, independent over the floor"] = found["independent"] / floor
        ratio = found["correlated"] / found["independent"]
        figures[f"model {name}, correlated over independent"] = ratio
    return figures
