"""Drawing the noise of a whole fleet at once gives what its devices would have given."""

from __future__ import annotations

from copy import copy

import numpy as np
import pytest
from scipy.stats import kstest, norm

from fsir.estimate.covariance import merged
from fsir.estimate.subspace import estimate, projection_loss
from fsir.estimate.totals import Totals
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import Stage, first_stage
from fsir.privacy.release import release
from fsir.secure.report import secure_of
from sim_devices.datasets.models import simulate
from sim_devices.network.parties import secured
from sim_devices.paper.exact import ExactMoments, PerClient
from sim_devices.paper.low import Replication, Setup, low_task, stream
from sim_devices.paper.merged_release import basis_of, merged_release, noiseless_basis
from sim_devices.scenarios.opened import opened_by_two
from tests.sim_devices.paper.places import low

CELL = low("III", 1.0, 200, 4)


def task():
    return low_task(CELL, CELL.epsilon)


@pytest.fixture(scope="module")
def devices() -> list[Moments]:
    X, y = simulate("III", CELL.n, CELL.p, "low", np.random.default_rng(5), clients=CELL.clients)
    accumulated = []
    for rows, responses in zip(X, y, strict=True):
        moments = Moments(task(), first_stage(task()))
        moments.learn_many(rows, responses)
        accumulated.append(moments)
    return accumulated


def exact(devices: list[Moments]) -> ExactMoments:
    parts = [(one.sums(), one.counts(), one.second()) for one in devices]
    return ExactMoments(
        sum(one.n for one in devices), *(sum(part) for part in zip(*parts, strict=True))
    )


def true_values(devices: list[Moments]) -> list[np.ndarray]:
    m = exact(devices)
    p = len(m.second)
    raw = (m.sums.reshape(-1), m.counts, np.diagonal(m.second), m.second[np.triu_indices(p, 1)])
    return [
        value / block.step for value, block in zip(raw, first_stage(task()).blocks, strict=True)
    ]


def real_totals(devices: list[Moments], seed: int) -> Totals:
    totals = Totals(first_stage(task()))
    for k, moments in enumerate(devices):
        totals.add(release(moments, SeededNoise(seed, str(k))))
    return totals


@pytest.mark.parametrize("way", ["devices", "at once"])
def test_every_block_has_the_same_known_distribution(devices, way):
    """Both the real reports and the fast draw are Gaussian around the exact sums,
    with the variance of the plan."""
    m = exact(devices)
    rng = np.random.default_rng(1)
    drawn = [
        real_totals(devices, seed)
        if way == "devices"
        else merged_release(first_stage(task()), m, len(devices), rng)
        for seed in range(60)
    ]
    for index, (block, true) in enumerate(
        zip(first_stage(task()).blocks, true_values(devices), strict=True)
    ):
        sd = np.sqrt(len(devices) * block.variance) / block.worth
        deviations = np.concatenate([(totals.blocks[index] - true) / sd for totals in drawn])
        assert kstest(deviations, norm.cdf).pvalue > 1e-4
        assert abs(deviations.var() - 1.0) < 5.0 * np.sqrt(2.0 / deviations.size)
        assert abs(deviations.mean()) < 5.0 / np.sqrt(deviations.size)


def test_fast_totals_count_records_and_devices_like_real_ones(devices):
    fast = merged_release(
        first_stage(task()), exact(devices), len(devices), np.random.default_rng(1)
    )
    real = real_totals(devices, 1)
    assert (fast.n, fast.devices) == (real.n, real.devices)
    assert [block.dtype for block in fast.blocks] == [block.dtype for block in real.blocks]


def test_the_basis_is_the_one_that_the_product_emits(devices):
    totals = real_totals(devices, 3)
    emitted = estimate(task(), totals).basis
    assert projection_loss(emitted, basis_of(merged(totals), 2)) < 1e-9


def test_an_experiment_accumulates_what_devices_accumulate():
    """The moments of a replication are those of the product's accumulators
    on the same records, bit for bit."""
    cell = low("IV", 1.0, 300, 3)
    run = Replication(0, 7, [cell], Setup(mechanisms=("gaussian",)))
    clipped: PerClient = run._clipped[cell.n]
    X, y = simulate("IV", 5000, 10, "low", stream(7, 3, 0, 1, 0), basis=run.beta, clients=10)
    the_task = low_task(cell, cell.epsilon)
    for k in range(cell.clients):
        moments = Moments(the_task, first_stage(the_task))
        moments.learn_many(X[k, : cell.n], y[k, : cell.n])
        assert np.array_equal(moments.sums(), clipped.sums[k])
        assert np.array_equal(moments.counts(), clipped.counts[k])
        assert np.array_equal(moments.second(), clipped.second[k])


def test_without_noise_many_records_find_the_truth():
    X, y = simulate("V", 100_000, 10, "low", np.random.default_rng(2))
    from sim_devices.datasets.models import cut_points, true_basis

    one_hot = np.eye(8)[np.searchsorted(cut_points("V", 10, "low"), y, side="left")]
    m = ExactMoments(len(X), X.T @ one_hot, one_hot.sum(axis=0), X.T @ X)
    assert (
        projection_loss(noiseless_basis(m, 2), true_basis("V", 10, "low", np.random.default_rng(0)))
        < 0.05
    )


def test_two_aggregators_add_what_the_totals_say():
    shared = secured(task(), 3)
    stage = first_stage(shared)
    zero = ExactMoments(
        CELL.n * CELL.clients,
        np.zeros((stage.p, stage.columns)),
        np.zeros(stage.slices),
        np.zeros((stage.p, stage.p)),
    )
    runs = [merged_release(stage, zero, CELL.clients, stream(7, run)) for run in range(300)]
    assert runs[0].noises == CELL.clients + 2 * 3
    for index, block in enumerate(stage.blocks):
        values = np.concatenate([totals.blocks[index] for totals in runs]) * block.worth
        claimed = runs[0].noises * block.variance
        assert values.var() == pytest.approx(claimed, rel=6.0 * (2.0 / values.size) ** 0.5 + 0.015)


@pytest.mark.parametrize("way", ["opened", "at once"])
def test_sums_that_two_open_have_the_same_known_distribution(devices, way):
    """Reports with noise of their devices and of both aggregators, and the fast draw."""
    shared = secured(task(), CELL.clients)
    stage = first_stage(shared)
    names = [f"d{k}" for k in range(CELL.clients)]
    rng = np.random.default_rng(1)

    def once(run: int) -> Totals:
        if way == "at once":
            return merged_release(stage, exact(devices), CELL.clients, rng)
        # What was accumulated does not depend on who will see it: only the stage is another.
        reports = [
            release(_as(moments, stage), SeededNoise(run, name))
            for name, moments in zip(names, devices, strict=True)
        ]
        return opened_by_two(shared, secure_of(shared), stage, names, reports, run)

    drawn = [once(run) for run in range(60)]
    for index, (block, true) in enumerate(zip(stage.blocks, true_values(devices), strict=True)):
        steps = first_stage(task()).blocks[index].step / block.step
        variance = CELL.clients * block.variance + 2.0 * (block.added**2 + block.worth**2 / 12.0)
        sd = np.sqrt(variance) / block.worth
        deviations = np.concatenate([(each.blocks[index] - steps * true) / sd for each in drawn])
        assert kstest(deviations, norm.cdf).pvalue > 1e-4
        assert abs(deviations.var() - 1.0) < 5.0 * np.sqrt(2.0 / deviations.size)


def _as(moments: Moments, stage: Stage) -> Moments:
    """The same sums, to be released as another stage says."""
    other = copy(moments)
    other.stage = stage
    return other
