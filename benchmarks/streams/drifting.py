"""A subspace that turns by 60 degrees in 10 rounds, and streams in which nothing changes."""

from __future__ import annotations

import numpy as np

from benchmarks.streams.stationary import DEVICES, FEATURES, RECORDS, last_basis
from fsir.estimate.rounds.memory import remember
from fsir.estimate.subspace import angles
from sim_devices.datasets import models
from sim_devices.stream.known import known_task, whitened, whitening
from sim_devices.stream.rounds import Fleet
from sim_devices.stream.tasks import with_rounds
from sim_devices.stream.turning import model_round, turned, turning

ROUNDS = 52
BEFORE = 20
TURNS = 10
AFTER = 5
DEGREES = 60.0
SEEDS = 4
STEADY = 200
STEADY_DEVICES = 2
BARS = {f"model {name}, degrees off after a drift": "<= 15" for name in models.MODELS} | {
    f"model {name}, degrees off with one report": "> 15" for name in models.MODELS
}
BARS["false notes of drift, share of streams"] = "<= 0.01"


def followed(name: models.Model, seed: int) -> tuple[float, float]:
    """Degrees between the truth and the subspace that follows, and the one of the first round."""
    task = with_rounds(known_task(name, DEVICES, RECORDS, FEATURES), ROUNDS)
    W = whitening(name, FEATURES)
    rng = np.random.default_rng([12, seed])
    start = models.true_basis(name, FEATURES, "low", rng)
    fleet = Fleet(task, seed)
    first = None
    for round, degrees in enumerate(turning(BEFORE, TURNS, DEGREES, BEFORE + TURNS + AFTER), 1):
        truth = turned(start, degrees)
        fleet.report(round, whitened(model_round(name, DEVICES, RECORDS, truth, rng), W))
        if first is None:
            first = W @ last_basis(fleet)
    last = W @ last_basis(fleet)
    return float(angles(last, truth).max()), float(angles(first, truth).max())


def drifting() -> dict[str, float]:
    """Means over seeds, and the worst."""
    figures = {}
    for name in models.MODELS:
        found = np.array([followed(name, seed) for seed in range(SEEDS)])
        figures[f"model {name}, degrees off after a drift"] = float(found[:, 0].mean())
        figures[f"model {name}, worst of {SEEDS}"] = float(found[:, 0].max())
        figures[f"model {name}, degrees off with one report"] = float(found[:, 1].mean())
    return figures


def noted(name: models.Model, seed: int, rounds: int = ROUNDS) -> bool:
    """Whether a stream in which nothing changes is said to drift after any of its rounds."""
    task = with_rounds(known_task(name, STEADY_DEVICES, RECORDS, FEATURES), rounds)
    W = whitening(name, FEATURES)
    rng = np.random.default_rng([13, seed])
    basis = models.true_basis(name, FEATURES, "low", rng)
    fleet = Fleet(task, seed)
    for round in range(1, rounds + 1):
        streams = model_round(name, STEADY_DEVICES, RECORDS, basis, rng)
        fleet.report(round, whitened(streams, W))
        if remember(task, fleet.history).drift is not None:
            return True
    return False


def false_notes() -> dict[str, float]:
    """Of so many streams, the models in turn."""
    alarms = [noted(models.MODELS[seed % len(models.MODELS)], seed) for seed in range(STEADY)]
    return {"false notes of drift, share of streams": float(np.mean(alarms))}
