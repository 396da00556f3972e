"""Rounds of the paper's models, and subspaces that turn from one round to the next."""

from __future__ import annotations

import numpy as np

from fsir.arrays import Matrix
from sim_devices.datasets import models
from sim_devices.datasets.population import DeviceStream


def turned(basis: Matrix, degrees: float) -> Matrix:
    """The basis with its first direction turned so far out of the space that it spans."""
    p = len(basis)
    outside = np.linalg.qr(np.column_stack([basis, np.eye(p)]))[0][:, basis.shape[1]]
    first = basis[:, 0]
    length = np.linalg.norm(first)
    angle = np.radians(degrees)
    new = np.cos(angle) * first + np.sin(angle) * length * outside
    return np.column_stack([new, basis[:, 1:]])


def turning(before: int, turns: int, degrees: float, rounds: int) -> list[float]:
    """By how many degrees the space has turned in each round: none, then evenly, then no further.

    >>> turning(2, 2, 60.0, 6)
    [0.0, 0.0, 30.0, 60.0, 60.0, 60.0]
    """
    return [degrees * min(max(t - before, 0), turns) / turns for t in range(1, rounds + 1)]


def model_round(
    model: models.Model, devices: int, n: int, basis: Matrix, rng: np.random.Generator
) -> list[DeviceStream]:
    """What all devices record in one round, n records each."""
    X, y = models.simulate(model, n, len(basis), "low", rng, basis=basis, clients=devices)
    responses = np.where(y > 0.5, "1", "0") if model == "I" else y
    return [DeviceStream(f"client-{k:04d}", X[k], responses[k]) for k in range(devices)]
