"""Models I to V where nothing changes: the loss after many rounds, over that without noise."""

from __future__ import annotations

import numpy as np

from fsir.estimate.rounds.memory import remember
from fsir.estimate.subspace import estimate, projection_loss
from sim_devices.datasets import models
from sim_devices.scenarios import scenarios
from sim_devices.scenarios.evaluation import noiseless
from sim_devices.scenarios.tasks import Setting, build
from sim_devices.stream.rounds import Fleet
from sim_devices.stream.tasks import with_rounds
from sim_devices.stream.turning import model_round

DEVICES = 20
RECORDS = 500
FEATURES = 10
ROUNDS = 52
SEEDS = 8
BARS = {f"model {name}, correlated over the floor": "<= 1.2" for name in models.MODELS} | {
    f"model {name}, correlated over independent": "<= 0.5" for name in models.MODELS
}


def task_of(name: models.Model, devices: int = DEVICES):
    """The task of one report; epsilon 1."""
    scenario = scenarios.model(name, devices, RECORDS, FEATURES, 1)
    setting = Setting(dimension=models.dimension(name))
    return build(scenario.population, scenario.geometry, setting)


def loss(name: models.Model, rounds: int, seeds: int, devices: int = DEVICES) -> dict[str, float]:
    """Mean losses after so many rounds of the same records."""
    base = task_of(name, devices)
    tasks = {
        "correlated": with_rounds(base, rounds),
        "independent": with_rounds(base, rounds, noise="independent"),
        "floor": with_rounds(noiseless(base), rounds),
    }
    found: dict[str, list[float]] = {kind: [] for kind in tasks}
    for seed in range(seeds):
        rng = np.random.default_rng([11, seed])
        basis = models.true_basis(name, FEATURES, "low", rng)
        fleets = {kind: Fleet(task, seed) for kind, task in tasks.items()}
        for round in range(1, rounds + 1):
            streams = model_round(name, devices, RECORDS, basis, rng)
            for fleet in fleets.values():
                fleet.report(round, streams)
        for kind, fleet in fleets.items():
            kept = remember(fleet.task, fleet.history)
            found[kind].append(projection_loss(estimate(fleet.task, kept.totals).basis, basis))
    return {kind: float(np.mean(values)) for kind, values in found.items()}


def losses() -> dict[str, float]:
    """All models."""
    figures = {}
    for name in models.MODELS:
        found = loss(name, ROUNDS, SEEDS)
        figures[f"model {name}, loss without noise"] = found["floor"]
        figures[f"model {name}, correlated over the floor"] = found["correlated"] / found["floor"]
        figures[f"model {name}, independent over the floor"] = found["independent"] / found["floor"]
        ratio = found["correlated"] / found["independent"]
        figures[f"model {name}, correlated over independent"] = ratio
    return figures
