"""Cells of the tables, written short."""

from __future__ import annotations

from sim_devices.datasets.models import Model
from sim_devices.paper.cells import Cell


def low(model: Model, epsilon: float, n: int, clients: int) -> Cell:
    """A cell in low dimension, p = 10."""
    return Cell(setting="low", model=model, epsilon=epsilon, p=10, n=n, clients=clients)


def high(model: Model, epsilon: float, p: int, clients: int) -> Cell:
    """A cell in high dimension, n = 1000."""
    return Cell(setting="high", model=model, epsilon=epsilon, p=p, n=1000, clients=clients)
