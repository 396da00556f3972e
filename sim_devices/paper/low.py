"""One replication of the low-dimensional tables:
all sizes, numbers of clients, epsilons and mechanisms on shared data.

Clients come in blocks of ten with 5,000 records each; a cell with fewer clients or records takes
the first ones. Every random stream is named by seed, model, replication and its purpose, so that a
cell has the same value whether it is run alone or with all others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import numpy as np

from fsir.arrays import Matrix
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
from sim_devices.paper.exact import (
    ClientMoments,
    ExactMoments,
    PerClient,
    client_moments,
    per_client,
)
from sim_devices.paper.merged_release import (
    NORM_PER_ROOT,
    clip_norm,
    noiseless_basis,
    released_basis,
)
from sim_devices.paper.profiles import ClientStatistics, Profile, VgmNoise
from sim_devices.paper.screening.ways import opened_together

Mechanism = Literal["gaussian", "iid", "vgm", "none", "secure"]
_ALL: tuple[Mechanism, ...] = get_args(Mechanism)
MECHANISMS = _ALL[:4]  # those of the paper's tables
SHARED_MECHANISMS: tuple[Mechanism, ...] = ("gaussian", "secure", "none")
BLOCK_CLIENTS = 10
BLOCK_RECORDS = 5000


def stream(seed: int, *labels: int) -> np.random.Generator:
    """An independent random stream for every purpose."""
    return np.random.Generator(np.random.SFC64([seed, *labels]))


@lru_cache(maxsize=256)
def low_task(cell: Cell, covariance_epsilon: float, norm_per_root: float = NORM_PER_ROOT) -> Task:
    """The task of a cell for the default release:
    all that the paper spends, on slice means and covariance, in one."""
    model = cell.model
    p = cell.p
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


@dataclass(frozen=True, kw_only=True)
class Setup:
    """How the cells of a replication are run."""

    mechanisms: tuple[Mechanism, ...] = MECHANISMS
    profile: Profile = "tables"
    # The paper's epsilon for the covariance, where it differs from the cell's.
    covariance_epsilon: float | None = None
    as_tabulated: bool = True  # False: the profile `tables` takes n for what it says
    norm_per_root: float = NORM_PER_ROOT


class Replication:
    """Everything that the cells of one model share in one replication."""

    def __init__(self, replication: int, seed: int, cells: Iterable[Cell], setup: Setup) -> None:
        self.cells = tuple(cells)
        self.setup = setup
        self.model = self.cells[0].model
        self.p = self.cells[0].p
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

    def basis(self, cell: Cell, mechanism: Mechanism) -> Matrix:
        """One estimate."""
        labels = (round(1000 * cell.epsilon), cell.n, cell.clients, _ALL.index(mechanism))
        rng = stream(*self._key, 2, *labels)
        if mechanism == "none":
            return noiseless_basis(self._raw[cell.n].first(cell.clients), self.d)
        more = self.setup.covariance_epsilon or cell.epsilon
        if mechanism in ("gaussian", "secure"):
            task = low_task(cell, more, self.setup.norm_per_root)
            stage = first_stage(opened_together(task, cell) if mechanism == "secure" else task)
            return released_basis(stage, self.exact(cell), cell.clients, self.d, rng)
        statistics = self._published[cell.n]
        profile = self.setup.profile
        delta = float(statistics.n) ** -1.1
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
        clipped: list[list[ClientMoments]] = []
        raw: list[list[ClientMoments]] = []
        quantiser = self._quantiser()
        mechanisms = set(self.setup.mechanisms)
        for block in range(-(-self._clients // at_once)):
            X, y = self._block(block, records, at_once)
            if mechanisms & {"iid", "vgm"}:
                for n in self._sizes:
                    taken = self._records(n)
                    published[n].append(self._client_statistics(X[:, :taken], y[:, :taken]))
            longest = self._sizes[-1]
            for rows, response in zip(X[:, :longest], y[:, :longest], strict=True):
                one_hot = self._one_hot(response)
                if mechanisms & {"gaussian", "secure"}:
                    kept = quantiser.clipped(quantiser.truncated(rows))
                    clipped.append(client_moments(kept, one_hot, self._sizes))
                if "none" in mechanisms:
                    raw.append(client_moments(rows, one_hot, self._sizes))
        for index, n in enumerate(self._sizes):
            if published[n]:
                self._published[n] = _stacked(published[n])
            if clipped:
                self._clipped[n] = per_client(n, [client[index] for client in clipped])
            if raw:
                self._raw[n] = per_client(n, [client[index] for client in raw])

    def _block(self, block: int, records: int, at_once: int) -> tuple[Matrix, Matrix]:
        """The records of some clients, of the last block only those that are used."""
        rng = stream(*self._key, 1, block)
        X, y = simulate(self.model, records, self.p, "low", rng, basis=self.beta, clients=at_once)
        used = min(at_once, self._clients - block * at_once)
        return X[:used], y[:used]

    def _client_statistics(self, X: Matrix, y: Matrix) -> ClientStatistics:
        return profiles.client_statistics(X, y, 2 if self.model == "I" else 0, self.setup.profile)

    def _one_hot(self, y: Matrix) -> Matrix:
        cuts = np.array(cut_points(self.model, self.p, "low"))
        one_hot = np.zeros((len(y), slice_count(self.model)))
        one_hot[np.arange(len(y)), np.searchsorted(cuts, y, side="left")] = 1.0
        return one_hot

    def _quantiser(self) -> Quantiser:
        """Clip and grid are the same for all cells: they depend on p alone."""
        task = low_task(self.cells[0], self.cells[0].epsilon, self.setup.norm_per_root)
        return Quantiser(task, first_stage(task))


def _stacked(parts: list[ClientStatistics]) -> ClientStatistics:
    M = np.concatenate([part.M for part in parts])
    Sigma = np.concatenate([part.Sigma for part in parts])
    radius = np.concatenate([part.radius for part in parts])
    return ClientStatistics(M, Sigma, parts[0].n, radius)
