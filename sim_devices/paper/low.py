"""One replication of the low-dimensional tables: all sizes, numbers of clients, epsilons and
mechanisms on shared data.

Clients come in blocks of ten with 5,000 records each; a cell with fewer clients or records takes
the first ones. Every random stream is named by seed, model, replication and its purpose, so that a
cell has the same value whether it is run alone or with all others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fsir.contract import task_from_table
from fsir.estimate.subspace import projection_loss
from fsir.privacy.plan import first_stage
from fsir.privacy.quantiser import Quantiser
from fsir.task.task import Task
from sim_devices.datasets.models import (
    MODELS,
    cut_points,
    dimension,
    simulate,
    slice_count,
    true_basis,
)
from sim_devices.paper import profiles
from sim_devices.paper.cells import Cell
from sim_devices.paper.clip import NORM_PER_ROOT, clip_norm
from sim_devices.paper.merged_release import ExactMoments, noiseless_basis, released_basis
from sim_devices.paper.profiles import ClientStatistics, Profile, VgmNoise

Array = NDArray[np.float64]
Mechanism = Literal["gaussian", "iid", "vgm", "none"]
MECHANISMS: tuple[Mechanism, ...] = get_args(Mechanism)
BLOCK_CLIENTS, BLOCK_RECORDS = 10, 5000


def stream(seed: int, *labels: int) -> np.random.Generator:
    """An independent random stream for every purpose."""
    return np.random.Generator(np.random.SFC64([seed, *labels]))


@lru_cache(maxsize=256)
def low_task(cell: Cell, covariance_epsilon: float, norm_per_root: float = NORM_PER_ROOT) -> Task:
    """The task of a cell for the default release: all that the paper spends, on slice means and
    covariance, in one."""
    model, p = cell.model, cell.p
    C = clip_norm(p, norm_per_root)
    return task_from_table(
        {
            "name": f"model-{model}",
            "features": {"names": [f"x{j + 1}" for j in range(p)]},
            "response": {"cuts": list(cut_points(model, p, "low"))},
            "clip": {"truncate": C, "norm": C},
            "privacy": {"epsilon": cell.epsilon + covariance_epsilon, "delta": 2 * cell.delta},
            "report": {"records": cell.n},
            "dimension": dimension(model),
        }
    )


@dataclass(frozen=True, eq=False)
class PerClient:
    """Moments of every client, at one size."""

    n: int
    sums: Array  # clients x p x H
    counts: Array  # clients x H
    second: Array  # clients x p x p

    def first(self, clients: int) -> ExactMoments:
        """Merged over the first clients."""
        parts = (part[:clients].sum(axis=0) for part in (self.sums, self.counts, self.second))
        return ExactMoments(self.n * clients, *parts)


def client_moments(
    rows: Array, one_hot: Array, sizes: Sequence[int]
) -> list[tuple[Array, Array, Array]]:
    """Sums, counts and second moment of one client's first records, for each of the increasing
    sizes."""
    found, start = [], 0
    sums, counts, second = np.zeros(()), np.zeros(()), np.zeros(())
    for n in sizes:
        part, hot = rows[start:n], one_hot[start:n]
        sums, counts, second = (
            sums + part.T @ hot,
            counts + np.ones(len(hot)) @ hot,
            second + part.T @ part,
        )
        found.append((sums, counts, second))
        start = n
    return found


@dataclass(frozen=True)
class Setup:
    """How the cells of a replication are run."""

    mechanisms: tuple[Mechanism, ...] = MECHANISMS
    profile: Profile = "tables"
    covariance_epsilon: float | None = (
        None  # the paper's epsilon for the covariance, where it differs from the cell's
    )
    as_tabulated: bool = True  # False: the profile `tables` takes n for what it says
    norm_per_root: float = NORM_PER_ROOT


class Replication:
    """Everything that the cells of one model share in one replication."""

    def __init__(self, replication: int, seed: int, cells: Iterable[Cell], setup: Setup) -> None:
        self.cells, self.setup = tuple(cells), setup
        self.model, self.p = self.cells[0].model, self.cells[0].p
        self.d = dimension(self.model)
        self._key = (seed, MODELS.index(self.model), replication)
        self._sizes = sorted({cell.n for cell in self.cells})
        self._clients = max(cell.clients for cell in self.cells)
        self.beta = true_basis(self.model, self.p, "low", stream(*self._key, 0))
        self._published: dict[int, ClientStatistics] = {}
        self._vgm: dict[int, VgmNoise] = {}
        self._clipped: dict[int, PerClient] = {}
        self._raw: dict[int, PerClient] = {}
        self._collect()

    def losses(self) -> dict[tuple[Cell, Mechanism], float]:
        """Projection loss of every cell and mechanism."""
        return {
            (cell, mechanism): projection_loss(self.basis(cell, mechanism), self.beta)
            for cell in self.cells
            for mechanism in self.setup.mechanisms
        }

    def basis(self, cell: Cell, mechanism: Mechanism) -> Array:
        """One estimate."""
        labels = (round(1000 * cell.epsilon), cell.n, cell.clients, MECHANISMS.index(mechanism))
        rng = stream(*self._key, 2, *labels)
        if mechanism == "none":
            return noiseless_basis(self._raw[cell.n].first(cell.clients), self.d)
        more = self.setup.covariance_epsilon or cell.epsilon
        if mechanism == "gaussian":
            stage = first_stage(low_task(cell, more, self.setup.norm_per_root))
            return released_basis(stage, self.exact(cell), cell.clients, self.d, rng)
        statistics = self._published[cell.n]
        profile, delta = self.setup.profile, float(statistics.n) ** -1.1
        if mechanism == "iid":
            M = profiles.merged_iid(statistics, cell.clients, profile, cell.epsilon, delta, rng)
        else:
            noise = self._vgm.setdefault(cell.n, VgmNoise(statistics.M))
            M = profiles.merged_vgm(statistics, noise, cell.clients, cell.epsilon, delta, rng)
        Sigma = profiles.merged_covariance(statistics, cell.clients, profile, more, delta, rng)
        return profiles.subspace(M, Sigma, self.d)

    def exact(self, cell: Cell) -> ExactMoments:
        """The clipped sums of a cell before noise."""
        return self._clipped[cell.n].first(cell.clients)

    # --- collecting what all cells need, block by block -------------------------------------------

    def _records(self, n: int) -> int:
        """How many records the paper's mechanisms use where n is printed."""
        return profiles.records_of(self.setup.profile, n) if self.setup.as_tabulated else n

    def _collect(self) -> None:
        records = max(BLOCK_RECORDS, *(self._records(n) for n in self._sizes))
        at_once = BLOCK_CLIENTS if records == BLOCK_RECORDS else 1
        published: dict[int, list[ClientStatistics]] = {n: [] for n in self._sizes}
        clipped: list[list[tuple[Array, Array, Array]]] = []
        raw: list[list[tuple[Array, Array, Array]]] = []
        quantiser = self._quantiser()
        mechanisms = set(self.setup.mechanisms)
        for block in range(-(-self._clients // at_once)):
            rng = stream(*self._key, 1, block)
            X, y = simulate(
                self.model, records, self.p, "low", rng, basis=self.beta, clients=at_once
            )
            used = min(at_once, self._clients - block * at_once)
            for n in self._sizes if mechanisms & {"iid", "vgm"} else ():
                published[n].append(
                    self._client_statistics(
                        X[:used, : self._records(n)], y[:used, : self._records(n)]
                    )
                )
            for rows, response in zip(
                X[:used, : self._sizes[-1]], y[:used, : self._sizes[-1]], strict=True
            ):
                one_hot = self._one_hot(response)
                if "gaussian" in mechanisms:
                    clipped.append(
                        client_moments(
                            quantiser.clipped(quantiser.truncated(rows)), one_hot, self._sizes
                        )
                    )
                if "none" in mechanisms:
                    raw.append(client_moments(rows, one_hot, self._sizes))
        for index, n in enumerate(self._sizes):
            if published[n]:
                self._published[n] = _stacked(published[n])
            if clipped:
                self._clipped[n] = _per_client(n, [client[index] for client in clipped])
            if raw:
                self._raw[n] = _per_client(n, [client[index] for client in raw])

    def _client_statistics(self, X: Array, y: Array) -> ClientStatistics:
        return profiles.client_statistics(X, y, 2 if self.model == "I" else 0, self.setup.profile)

    def _one_hot(self, y: Array) -> Array:
        cuts = np.array(cut_points(self.model, self.p, "low"))
        one_hot = np.zeros((len(y), slice_count(self.model)))
        one_hot[np.arange(len(y)), np.searchsorted(cuts, y, side="left")] = 1.0
        return one_hot

    def _quantiser(self) -> Quantiser:
        """Clip and grid are the same for all cells: they depend on p alone."""
        task = low_task(self.cells[0], self.cells[0].epsilon, self.setup.norm_per_root)
        return Quantiser(task, first_stage(task))


def _per_client(n: int, found: list[tuple[Array, Array, Array]]) -> PerClient:
    sums, counts, second = (np.stack(parts) for parts in zip(*found, strict=True))
    return PerClient(n, sums, counts, second)


def _stacked(parts: list[ClientStatistics]) -> ClientStatistics:
    M, Sigma, radius = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("M", "Sigma", "radius")
    )
    return ClientStatistics(M, Sigma, parts[0].n, radius)
