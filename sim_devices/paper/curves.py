"""The paper's two curves: the angle to the true subspace against the records of one client,
and against clients."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fsir.estimate.subspace import angles
from sim_devices.datasets.models import Model
from sim_devices.paper.cells import LOW_P, Cell
from sim_devices.paper.low import MECHANISMS, Replication, Setup

COST_MODELS: tuple[Model, ...] = ("I", "III", "V")
COST_SIZES = (100, 250, 500, 1000, 2500, 5000, 10000, 25000, 50000)
CLIENT_SIZES = (100, 500, 1000)
CLIENT_COUNTS = (2, 5, 10, 20, 50, 100, 200)
CLIENT_COVARIANCE_EPSILON = 3.0  # the paper's choice for this figure


@dataclass(frozen=True, kw_only=True)
class Point:
    """Mean angle in degrees (the largest principal one), and where 90% of the replications lie."""

    model: Model
    mechanism: str
    n: int
    clients: int
    angle: float
    low: float
    high: float


def cost_curve(replications: int, seed: int) -> list[Point]:
    """One client, n from 100 to 50,000; epsilon 1 for each of slice means and covariance,
    2 in all for `gaussian`."""
    points = []
    for model in COST_MODELS:
        cells = [_cell(model, n, 1) for n in COST_SIZES]
        points += _curve(cells, Setup(as_tabulated=False), replications, seed)
    return points


def clients_curve(replications: int, seed: int) -> list[Point]:
    """Model I, up to 200 clients; the covariance has epsilon 3, so that `gaussian` has 4 in all."""
    cells = [_cell("I", n, K) for n in CLIENT_SIZES for K in CLIENT_COUNTS]
    setup = Setup(covariance_epsilon=CLIENT_COVARIANCE_EPSILON, as_tabulated=False)
    return _curve(cells, setup, replications, seed)


def _cell(model: Model, n: int, clients: int) -> Cell:
    return Cell(setting="low", model=model, epsilon=1.0, p=LOW_P, n=n, clients=clients)


def _curve(cells: Sequence[Cell], setup: Setup, replications: int, seed: int) -> list[Point]:
    turned: dict[tuple[Cell, str], list[float]] = defaultdict(list)
    for replication in range(replications):
        run = Replication(replication, seed, cells, setup)
        for cell in cells:
            for mechanism in MECHANISMS:
                largest = angles(run.basis(cell, mechanism), run.beta).max()
                turned[cell, mechanism].append(float(largest))
    return [_point(cell, mechanism, values) for (cell, mechanism), values in turned.items()]


def _point(cell: Cell, mechanism: str, values: list[float]) -> Point:
    low, high = np.quantile(values, (0.05, 0.95))
    return Point(
        model=cell.model,
        mechanism=mechanism,
        n=cell.n,
        clients=cell.clients,
        angle=round(float(np.mean(values)), 2),
        low=round(float(low), 2),
        high=round(float(high), 2),
    )
