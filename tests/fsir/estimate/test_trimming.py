"""Trimmed sums: exact, the same in any order, bounded against liars, and at an honest price."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from fsir.errors import AccumulatorError
from fsir.estimate.covariance import Levels, covariance, merged
from fsir.estimate.directions import count_directions, whitened
from fsir.estimate.subspace import estimate, projection_loss
from fsir.estimate.totals import Totals
from fsir.estimate.trimming import cut, inflation, trimmed_sum, trimmed_totals
from fsir.privacy.plan import first_stage
from fsir.privacy.quantiser import Quantiser
from sim_devices.poison.population import Population, Setting
from tests.fsir.simulated import P, model_task
from tests.fsir.tasks import task

values = arrays(
    np.int64,
    array_shapes(min_dims=2, max_dims=2, max_side=12),
    elements=st.integers(-(2**53), 2**53),
)


@given(values, st.randoms(use_true_random=False))
def test_any_order_gives_the_same_integers(table, shuffled):
    order = list(range(table.shape[1]))
    shuffled.shuffle(order)
    assert trimmed_sum(table[:, order]).tolist() == trimmed_sum(table).tolist()


@given(values)
def test_it_is_the_exact_sum_of_the_middle(table):
    c = cut(table.shape[1])
    middle = [sorted(row)[c : len(row) - c] for row in table.tolist()]
    assert trimmed_sum(table).tolist() == [sum(row) for row in middle]


@given(values, st.integers(-(2**53), 2**53))
def test_one_report_cannot_leave_the_range_of_the_others(table, lie):
    """With four devices or more, whatever one says, the mean stays between two of the others."""
    if table.shape[1] < 4:
        return
    others = table[:, 1:]
    table[:, 0] = lie
    kept = table.shape[1] - 2 * cut(table.shape[1])
    sums = trimmed_sum(table)
    assert (sums <= kept * others.max(axis=1)).all()
    assert (sums >= kept * others.min(axis=1)).all()


def test_short_integers_do_not_wrap_round_and_long_ones_say_when_they_would():
    assert trimmed_sum(np.full((1, 5000), 2**15 - 1, np.int16)).tolist() == [2500 * (2**15 - 1)]
    assert trimmed_sum(np.full((1, 900), 2**52)).tolist() == [450 * 2**52]
    with pytest.raises(AccumulatorError, match="2000 devices"):
        trimmed_sum(np.full((1, 2000), 2**53))


@pytest.mark.parametrize(
    ("devices", "off"), [(0, 0), (1, 0), (2, 0), (3, 0), (4, 1), (7, 1), (8, 2), (30, 7), (300, 75)]
)
def test_how_many_are_cut_off(devices, off):
    assert cut(devices) == off
    assert (inflation(devices) == 1.0) == (off == 0)


@pytest.mark.parametrize("devices", [1, 3, 4, 5, 7, 8, 10, 30, 31, 100])
def test_the_stated_price_is_the_real_one_for_normal_values(devices):
    draws = np.random.default_rng(devices).standard_normal((100_000, devices))
    mean = trimmed_sum(draws) / (devices - 2 * cut(devices))
    assert mean.var() * devices == pytest.approx(inflation(devices), rel=0.025)


@pytest.mark.parametrize("rho", [0.3, 0.6, 0.9])
def test_what_trimming_adds_is_nearly_independent_from_value_to_value(rho):
    rng = np.random.default_rng(1)
    K = 40
    a, b = rng.standard_normal((2, 100_000, K))
    b = rho * a + (1.0 - rho**2) ** 0.5 * b
    covariances = K * np.cov(*(trimmed_sum(x) / (K - 2 * cut(K)) for x in (a, b)))
    excess = covariances[0, 1] - rho
    assert -0.02 <= excess <= (inflation(K) - 1.0) * rho**3 + 0.02


def test_fewer_than_four_reports_are_simply_added():
    stage = first_stage(task(3))
    rows = np.random.default_rng(2).integers(-50, 50, (3, sum(stage.sizes)))
    totals = trimmed_totals(stage, trimmed_sum(rows.T), 3, 300)
    plain = Totals(stage)
    plain.n = 300
    plain.devices = 3
    parts = np.split(rows.sum(axis=0), np.cumsum([9, 3, 3]))
    for block, part in zip(plain.blocks, parts, strict=True):
        block[...] = part
    assert merged(totals).M.tobytes() == merged(plain).M.tobytes()
    assert merged(totals).levels == merged(plain).levels


def test_equal_reports_give_what_their_sum_gives():
    stage = first_stage(task(3))
    row = np.random.default_rng(3).integers(-50, 50, sum(stage.sizes))
    twelve = trimmed_totals(stage, trimmed_sum(np.repeat(row[:, None], 12, axis=1)), 12, 1200)
    one = trimmed_totals(stage, row, 1, 100)
    assert twelve.sums() == pytest.approx(12 * one.sums())
    assert twelve.counts() == pytest.approx(12 * one.counts())
    assert twelve.second() == pytest.approx(12 * one.second())


def test_the_estimate_says_when_nothing_was_cut_off():
    small = task(3, aggregation="trimmed", privacy={"epsilon": 20.0})
    stage = first_stage(small)
    rows = np.random.default_rng(4).integers(0, 50, (sum(stage.sizes), 4))
    for devices in (3, 4):
        totals = trimmed_totals(stage, trimmed_sum(rows[:, :devices]), devices, 100 * devices)
        notes = estimate(small, totals).notes
        assert any("a single false one" in note for note in notes) == (devices < 4)


# --- federations ----------------------------------------------------------------------------------


def compare(model: str, n: int, K: int, epsilon: float, count: int) -> dict[str, dict[str, float]]:
    """Federations whose reports are added, or trimmed.

    How far off they are and say that they are, and how often they invent directions.
    """
    population = Population(Setting(model=model, devices=K, n=n, p=P, epsilon=epsilon))
    stage = population.stage
    d = population.setting.d
    chosen = model_task(model, n, epsilon, d=d)
    outcomes = {"sum": np.zeros((count, 3)), "trimmed": np.zeros((count, 3))}
    for r in range(count):
        draw = population.draw(np.random.default_rng([r, n, K]))
        rows = draw.rows.astype(np.int64).T
        plain = trimmed_totals(stage, rows.sum(axis=1), K, n * K)
        plain.scale = 1.0
        plain.inflation = 1.0
        trimmed = trimmed_totals(stage, trimmed_sum(rows), K, n * K)
        for name, totals in (("sum", plain), ("trimmed", trimmed)):
            subspace = estimate(chosen, totals)
            counted = count_directions(subspace.singular_values, P, stage.slices - 1, n * K)
            loss = projection_loss(subspace.basis, draw.truth)
            outcomes[name][r] = (loss, subspace.expected_error, counted > d)
    figures = {}
    for name, rows in outcomes.items():
        loss, expected, invented = rows.mean(axis=0)
        figures[name] = {"loss": loss, "ratio": expected / loss, "invented": invented}
        print(
            f"model {model} n {n} K {K} epsilon {epsilon:g} {name}: loss {loss:.4f} "
            f"ratio {expected / loss:.3f} invented {invented:.3f}"
        )
    return figures


def test_a_trimmed_estimate_knows_how_far_off_it_is():
    figures = compare("V", 1000, 10, 1.0, 30)
    assert 0.8 <= figures["trimmed"]["ratio"] <= 1.25
    assert figures["trimmed"]["loss"] < 1.3 * figures["sum"]["loss"]
    assert figures["trimmed"]["invented"] <= 0.1


@pytest.mark.slow
@pytest.mark.parametrize(("n", "K"), [(1000, 5), (1000, 10), (1000, 50), (5000, 30)])
@pytest.mark.parametrize("model", ["I", "II", "III", "V"])
def test_trimmed_estimates_over_200_federations(model, n, K):
    for epsilon in (1.0, 2.0):
        figures = compare(model, n, K, epsilon, 200)
        assert 0.85 <= figures["trimmed"]["ratio"] <= 1.2
        # Two in 200, by chance.
        most = max(figures["sum"]["invented"], 0.01) + 0.015
        assert figures["trimmed"]["invented"] <= most


CORRELATED = task(
    8,
    response={"classes": ["a", "b", "c", "d"]},
    clip={"truncate": 5.0, "norm": 10.0},
    privacy={"mechanism": "none"},
    report={"records": 400},
    dimension=1,
)


def correlated_totals(K: int, seed: int) -> Totals:
    """The trimmed totals of K devices with correlated features, one of which tells a class."""
    n = CORRELATED.report.records
    stage = first_stage(CORRELATED)
    p = stage.p
    H = stage.slices
    quantiser = Quantiser(CORRELATED, stage)
    root = np.linalg.cholesky(0.9 ** np.abs(np.subtract.outer(range(p), range(p))))
    rng = np.random.default_rng(seed)
    slices = rng.integers(0, H, n * K)
    X = rng.standard_normal((n * K, p)) @ root.T
    X = X + 0.6 * (slices == 1)[:, None] * (root @ root.T)[0]
    X = quantiser.clipped(quantiser.truncated(X)).reshape(K, n, p)
    one_hot = np.eye(H)[slices].reshape(K, n, H)
    T = X.swapaxes(1, 2) @ X
    rows, columns = np.triu_indices(p, 1)
    parts = (
        (X.swapaxes(1, 2) @ one_hot).reshape(K, -1),
        one_hot.sum(axis=1),
        np.diagonal(T, axis1=1, axis2=2),
        T[:, rows, columns],
    )
    reports = np.concatenate(parts, axis=1).astype(np.int64)
    return trimmed_totals(stage, trimmed_sum(reports.T), K, n * K)


@pytest.mark.slow
def test_trimming_is_no_loss_of_records():
    """Correlated features, no mechanism noise: counted as fewer records, it would invent some."""
    K = 40
    p = CORRELATED.p
    H = CORRELATED.slicing.count
    figures = []
    invented = []
    invented_by_fewer_records = []
    for seed in range(200):
        totals = correlated_totals(K, seed)
        subspace = estimate(CORRELATED, totals)
        loss = projection_loss(subspace.basis, np.eye(p)[:, :1])
        figures.append((loss, subspace.expected_error))
        counted = count_directions(subspace.singular_values, p, H - 1, totals.n)
        invented.append(counted > 1)
        fewer = round(totals.n / inflation(K))
        m = replace(merged(totals), N=fewer, levels=Levels(0.0, 0.0, 0.0, 0.0))
        naive = whitened(m, covariance(m)).singular_values
        invented_by_fewer_records.append(count_directions(naive, p, H - 1, fewer) > 1)
    loss, expected = np.mean(figures, axis=0)
    shares = {"shipped": np.mean(invented), "fewer": np.mean(invented_by_fewer_records)}
    print(f"invented: {shares}; loss {loss:.4f} expected {expected:.4f}")
    assert shares["shipped"] <= 0.02
    assert shares["fewer"] >= 0.05
    assert loss < expected < 1.6 * loss
