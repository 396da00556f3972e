"""One replication of the high-dimensional tables:
screening, then the same estimate on the active set.

iid, vgm   the paper: votes that leak (erratum E8), then its mechanisms on the active set
gaussian   private: two reports of every device about the same records; the first holds noisy sums
           of all features times a response code, from which the aggregator selects
funnel     private: four such reports, each about fewer features
votes      private: devices vote from their own noisy slice sums
refined    as funnel, with more for its first report and slices that are finer in the tails
secure     as gaussian with such slices, but two aggregators open the sums of all clients
secure-funnel  as refined, but two aggregators open the sums of all clients
none       the floor: no noise, and the active set is known

All private ways share the paper's total budget over their reports.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from fsir.arrays import Matrix
from fsir.estimate.screening import majority
from fsir.estimate.subspace import projection_loss
from fsir.estimate.votes import ccmd_votes
from fsir.privacy.plan import final_stage, first_stage
from fsir.privacy.quantiser import Quantiser
from sim_devices.datasets.models import (
    MODELS,
    active_size,
    dimension,
    simulate,
    slice_count,
    true_basis,
)
from sim_devices.paper import profiles
from sim_devices.paper.cells import Cell, ExperimentError
from sim_devices.paper.exact import ExactMoments, client_moments
from sim_devices.paper.low import stream
from sim_devices.paper.merged_release import noiseless_basis, released_basis
from sim_devices.paper.screening.private_screening import Rows, funnelled, screened, voted
from sim_devices.paper.screening.ways import TWO_STAGES, WAYS, high_task, public_cuts

HighMechanism = Literal[
    "gaussian", "funnel", "iid", "vgm", "none", "votes", "secure", "refined", "secure-funnel"
]
_ALL: tuple[HighMechanism, ...] = get_args(HighMechanism)
HIGH_MECHANISMS = _ALL[:6]  # those of the paper's tables
SHARED_MECHANISMS: tuple[HighMechanism, ...] = ("refined", "secure", "secure-funnel", "none")


@dataclass(frozen=True)
class Outcome:
    """Loss of an estimate, and what its active set was worth."""

    loss: float
    recall: float
    size: int


@dataclass(frozen=True)
class Published:
    """What the paper's mechanisms start from:
    the active set that was voted for, and what clients compute on it."""

    active: tuple[int, ...]
    statistics: profiles.ClientStatistics
    noise: profiles.VgmNoise


def _refined(mechanisms: Iterable[HighMechanism]) -> bool:
    """Whether a run has the finer slices, which all of its ways then have."""
    asked = {WAYS[name].refined for name in mechanisms if name in WAYS}
    if len(asked) > 1:
        raise ExperimentError("ways with and without finer slices cannot share one replication")
    return True in asked


class HighReplication:
    """Everything that the cells of one model and one p share in one replication."""

    def __init__(
        self,
        replication: int,
        seed: int,
        cells: Iterable[Cell],
        mechanisms: Iterable[HighMechanism],
        profile: profiles.Profile = "tables",
    ) -> None:
        self.cells = tuple(cells)
        self.model = self.cells[0].model
        self.p = self.cells[0].p
        self.d = dimension(self.model)
        self.mechanisms = tuple(mechanisms)
        self._refined = _refined(self.mechanisms)
        self.profile = profile
        self.n = self.cells[0].n
        self._key = (seed, len(MODELS) + MODELS.index(self.model), replication, self.p)
        self._clients = max(cell.clients for cell in self.cells)
        self.beta = true_basis(self.model, self.p, "high", stream(*self._key, 0))
        self._statistics: dict[int, Published] = {}
        self._collect()

    def outcomes(self) -> dict[tuple[Cell, HighMechanism], Outcome]:
        """Every cell and mechanism."""
        return {
            (cell, name): self.outcome(cell, name)
            for cell in self.cells
            for name in self.mechanisms
        }

    def outcome(self, cell: Cell, mechanism: HighMechanism) -> Outcome:
        """One estimate on its active set, and how good both are."""
        labels = (round(1000 * cell.epsilon), cell.clients, _ALL.index(mechanism))
        rng = stream(*self._key, 2, *labels)
        if mechanism == "none":
            active, basis = self._noiseless(cell)
        elif mechanism in ("iid", "vgm"):
            active, basis = self._published(cell, mechanism, rng)
        else:
            active, basis = self._private(cell, mechanism, rng)
        s = active_size(self.p, "high")
        # All other features have no weight in either basis, and the loss does not see them.
        seen = sorted({*active, *range(s)})
        embedded = np.zeros((len(seen), basis.shape[1]))
        embedded[[seen.index(j) for j in active]] = basis
        recall = sum(j < s for j in active) / s
        return Outcome(projection_loss(embedded, self.beta[seen]), recall, len(active))

    def _private(
        self, cell: Cell, mechanism: HighMechanism, rng: np.random.Generator
    ) -> tuple[tuple[int, ...], Matrix]:
        rows = self._rows.first(cell.clients)
        way = WAYS[mechanism]
        select = voted if mechanism == "votes" else funnelled if len(way.stages) > 1 else screened
        active = select(rows, cell, way, rng)
        task = high_task(cell, way.before, way=way)
        stage = final_stage(task, active)
        exact = rows.moments(task, stage, active)
        return active, released_basis(stage, exact, cell.clients, self.d, rng)

    def _noiseless(self, cell: Cell) -> tuple[tuple[int, ...], Matrix]:
        active = tuple(range(active_size(self.p, "high")))
        rows = self._rows.first(cell.clients)
        X = rows.raw(active).reshape(-1, len(active))
        one_hot = np.eye(slice_count(self.model))[rows.slices.reshape(-1)]
        ((sums, counts, second),) = client_moments(X, one_hot, [len(X)])
        return active, noiseless_basis(ExactMoments(len(X), sums, counts, second), self.d)

    def _published(
        self, cell: Cell, mechanism: str, rng: np.random.Generator
    ) -> tuple[tuple[int, ...], Matrix]:
        if cell.clients not in self._statistics:
            self._statistics[cell.clients] = self._voted(cell.clients)
        known = self._statistics[cell.clients]
        delta = float(known.statistics.n) ** -1.1
        budget = (cell.epsilon, delta, rng)
        if mechanism == "iid":
            M = profiles.merged_iid(known.statistics, cell.clients, self.profile, *budget)
        else:
            M = profiles.merged_vgm(known.statistics, known.noise, cell.clients, *budget)
        Sigma = profiles.merged_covariance(known.statistics, cell.clients, self.profile, *budget)
        return known.active, profiles.subspace(M, Sigma, self.d)

    def _voted(self, clients: int) -> Published:
        votes = self._votes[:clients].sum(axis=0)
        active = majority(votes, clients)
        if len(active) < self.d:
            active = tuple(sorted(np.argsort(-votes, kind="stable")[: self.d].tolist()))
        X = self._rows.first(clients).raw(active, everything=True)
        y = self._y[:clients]
        statistics = profiles.client_statistics(X, y, self._classes, self.profile)
        return Published(active, statistics, profiles.VgmNoise(statistics.M))

    # --- collecting -------------------------------------------------------------------------------

    @property
    def _classes(self) -> int:
        return 2 if self.model == "I" else 0

    def _collect(self) -> None:
        cell = self.cells[0]
        task = high_task(cell, TWO_STAGES)
        stage = first_stage(task)
        quantiser = Quantiser(task, stage)
        cuts = np.array(public_cuts(self.model, self.p, refined=self._refined))
        H = slice_count(self.model)
        records = self.n  # here the printed n fits, not 1500
        threshold = math.sqrt(math.log(self.p) / (records / H))
        kept = np.empty((self._clients, records, self.p), np.int16)
        slices = np.empty((self._clients, self.n), np.int64)
        sums = np.empty((self._clients, self.p, H))
        self._y = np.empty((self._clients, records))
        self._votes = np.zeros((self._clients, self.p), np.int64)
        for k in range(self._clients):
            rng = stream(*self._key, 1, k)
            X, y = simulate(self.model, records, self.p, "high", rng, basis=self.beta)
            self._y[k] = y
            if {"iid", "vgm"} & set(self.mechanisms):
                all_sums, counts = profiles.slice_sums(X[None], y[None], self._classes)
                self._votes[k] = ccmd_votes(all_sums[0].T, counts[0], records, threshold).sum(
                    axis=1
                )
            rows = quantiser.truncated(X)
            kept[k] = rows
            slices[k] = np.searchsorted(cuts, y[: self.n], side="left")
            sums[k] = quantiser.clipped(rows[: self.n]).T @ np.eye(H)[slices[k]]
        self._rows = Rows(n=self.n, kept=kept, slices=slices, sums=sums, grid=stage.grid)
