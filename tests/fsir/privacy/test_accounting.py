"""The accounting agrees with others', and the joint sensitivity is sharp."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsir.errors import AccountingError, FsirError
from fsir.privacy import accounting

EPSILONS = np.geomspace(0.1, 10.0, 9)
DELTAS = np.geomspace(1e-9, 1e-2, 8)


@pytest.mark.parametrize("delta", DELTAS)
def test_agrees_with_an_independent_accountant(delta):
    reference = pytest.importorskip("dp_accounting")
    for epsilon in EPSILONS:
        mu = accounting.mu_of(epsilon, delta)
        assert mu == pytest.approx(1.0 / reference.get_sigma_gaussian(epsilon, delta), rel=1e-6)
        assert accounting.epsilon_of(mu, delta) == pytest.approx(
            reference.get_epsilon_gaussian(1.0 / mu, delta), rel=1e-6
        )


@pytest.mark.parametrize(
    ("epsilon", "mu"),
    [(0.01, 1e-3), (1.0, 0.2), (10.0, 1.7), (30.0, 8.0), (500.0, 30.0), (1000.0, 44.0)],
)
def test_delta_is_exact_for_any_epsilon(epsilon, mu):
    mp = pytest.importorskip("mpmath")
    with mp.workdps(50):
        tail = lambda z: mp.erfc(z / mp.sqrt(2)) / 2  # noqa: E731
        exact = tail(mp.mpf(epsilon) / mu - mp.mpf(mu) / 2) - mp.exp(epsilon) * tail(
            mp.mpf(epsilon) / mu + mp.mpf(mu) / 2
        )
        assert accounting.delta_of(mu, epsilon) == pytest.approx(float(exact), rel=1e-8)


@given(st.floats(0.01, 30.0), st.floats(1e-12, 0.1))
def test_round_trips(epsilon, delta):
    mu = accounting.mu_of(epsilon, delta)
    assert accounting.delta_of(mu, epsilon) <= delta  # the side on which the promise holds
    assert accounting.delta_of(mu, epsilon) == pytest.approx(delta, rel=1e-6)
    assert accounting.epsilon_of(mu, delta) == pytest.approx(epsilon, rel=1e-6)


@given(st.floats(0.01, 20.0), st.floats(1e-10, 0.05))
def test_more_budget_pays_for_more(epsilon, delta):
    mu = accounting.mu_of(epsilon, delta)
    assert accounting.mu_of(1.1 * epsilon, delta) > mu
    assert accounting.mu_of(epsilon, 1.1 * delta) > mu


def test_a_release_of_nothing_costs_nothing_and_one_without_noise_everything():
    assert accounting.delta_of(0.0, 1.0) == 0.0
    assert accounting.epsilon_of(0.0, 1e-6) == 0.0
    assert accounting.epsilon_of(1e-9, 1e-6) == 0.0
    assert accounting.epsilon_of(math.inf, 1e-6) == math.inf


@given(st.lists(st.floats(0.0, 10.0), min_size=1, max_size=6))
def test_costs_compose_as_squares_in_any_order(mus):
    total = accounting.compose(*mus)
    assert total**2 == pytest.approx(sum(mu * mu for mu in mus), abs=1e-12)
    assert accounting.compose(*reversed(mus)) == pytest.approx(total)


@pytest.mark.parametrize(
    "call",
    [
        lambda: accounting.mu_of(0.0, 1e-6),
        lambda: accounting.mu_of(-1.0, 1e-6),
        lambda: accounting.mu_of(math.nan, 1e-6),
        lambda: accounting.mu_of(math.inf, 1e-6),
        lambda: accounting.mu_of(1.0, 0.0),
        lambda: accounting.mu_of(1.0, 1.0),
        lambda: accounting.delta_of(-1.0, 1.0),
        lambda: accounting.delta_of(1.0, math.nan),
        lambda: accounting.epsilon_of(1.0, 0.0),
        lambda: accounting.epsilon_of(math.nan, 0.1),
        lambda: accounting.compose(1.0, -1.0),
        lambda: accounting.compose(math.nan),
        lambda: accounting.joint_mu(0.0, 1.0, 1.0, 1.0),
        lambda: accounting.joint_mu(1.0, -1.0, 1.0, 1.0),
        lambda: accounting.joint_mu(1.0, 1.0, 0.0, 1.0),
        lambda: accounting.joint_mu(1.0, 1.0, 1.0, math.nan),
        lambda: accounting.free_scales(1.0, 0.0),
        lambda: accounting.minimum_sample_size(1.0, 0.0),
        lambda: accounting.classical_sigma(1.0, 0.0, 1e-6),
        lambda: accounting.lemma_sigma(10, 100, 1.0, 2.0),
    ],
)
def test_nonsense_is_refused_by_name(call):
    with pytest.raises(AccountingError, match=r"must|least") as caught:
        call()
    assert isinstance(caught.value, FsirError)
    assert isinstance(caught.value, ValueError)


# --- the joint sensitivity ------------------------------------------------------------------------

FREE = (3.6, 3.6 / math.sqrt(2.0), 1.0, math.sqrt(2.0) * 3.6)
BRANCHES = {  # (C, c, s_M, s_S): which replacement is the worst
    "free: both at once": FREE,
    "within a slice, at an angle": (2.0, 0.1, 1.0, 1.0),
    "within a slice, opposite": (1.0, 0.2, 1.0, 4.0),
    "across, second moment large": (2.0, 3.0, 1.0, 1.0),
    "across, second moment small": (1.0, 2.0, 1.0, 4.0),
    "no second moment": (1.5, 1.5, 0.7, math.inf),
}


def distance(x, y, same_slice, c, s_M, s_S):
    """How far one replacement moves the release, in standard deviations of the noise."""
    sums = np.zeros((len(x) + 1, 2))
    sums[:, 0] += np.append(x, c)
    sums[:, 0 if same_slice else 1] -= np.append(y, c)
    T = np.outer(x, x) - np.outer(y, y)
    rows, columns = np.triu_indices(len(x))
    weighted = T[rows, columns] * np.where(rows == columns, 1.0, math.sqrt(2.0))
    return math.hypot(np.linalg.norm(sums) / s_M, np.linalg.norm(weighted) / s_S)


@pytest.mark.parametrize("scales", BRANCHES.values(), ids=BRANCHES)
def test_joint_sensitivity_is_reached_and_never_exceeded(scales):
    C, c, s_M, s_S = scales
    mu = accounting.joint_mu(C, c, s_M, s_S)
    norms = np.linspace(0.0, C, 5)
    angles = np.linspace(0.0, np.pi, 37)
    farthest = max(
        distance(np.array([a, 0.0]), b * np.array([math.cos(t), math.sin(t)]), same, c, s_M, s_S)
        for a in norms
        for b in norms[norms <= a]
        for t in angles
        for same in (True, False)
    )
    assert 0.99 * mu <= farthest <= mu * (1 + 1e-12)


@given(
    st.sampled_from(list(BRANCHES.values())),
    st.lists(st.floats(-1.0, 1.0), min_size=8, max_size=8),
    st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)),
    st.booleans(),
)
def test_no_pair_of_records_exceeds_the_joint_sensitivity(scales, entries, norms, same):
    C, c, s_M, s_S = scales
    x = np.array(entries[:4])
    y = np.array(entries[4:])
    x = norms[0] * C * x / max(np.linalg.norm(x), 1e-9)
    y = norms[1] * C * y / max(np.linalg.norm(y), 1e-9)
    assert distance(x, y, same, c, s_M, s_S) <= accounting.joint_mu(*scales) * (1 + 1e-9)


@given(st.floats(1e-3, 1e3), st.floats(1e-3, 10.0))
def test_counts_and_second_moment_are_free(C, mu):
    s_M, s_S, c = accounting.free_scales(C, mu)
    assert accounting.joint_mu(C, c, s_M, s_S) == pytest.approx(2.0 * C / s_M, rel=1e-9)
    assert accounting.joint_mu(C, c, s_M, s_S) == pytest.approx(
        accounting.joint_mu(C, 0.0, s_M, math.inf), rel=1e-9
    )
    assert 2.0 * C / s_M == pytest.approx(mu, rel=1e-12)


@given(
    st.sampled_from(list(BRANCHES.values())),
    st.lists(st.floats(-1.0, 1.0), min_size=4, max_size=4),
    st.floats(0.0, 1.0),
)
def test_a_record_that_is_refused_costs_at_most_half_of_mu_squared(scales, entries, norm):
    """Accepted against null: zero, in no slice."""
    C, c, s_M, s_S = scales
    x = np.array(entries)
    x = norm * C * x / max(np.linalg.norm(x), 1e-9)
    moved = math.hypot(math.hypot(np.linalg.norm(x), c) / s_M, np.linalg.norm(np.outer(x, x)) / s_S)
    assert moved**2 <= accounting.joint_mu(*scales) ** 2 / 2 * (1 + 1e-9)


def test_with_free_scales_a_refused_record_costs_exactly_half():
    C, c, s_M, s_S = FREE
    moved = (C**2 + c**2) / s_M**2 + C**4 / s_S**2
    assert 2 * moved == pytest.approx(accounting.joint_mu(*FREE) ** 2, rel=1e-12)


# --- sample sizes, and the formulas of the paper --------------------------------------------------


@given(st.floats(1e-2, 1e4), st.floats(1e-3, 1e2))
def test_minimum_sample_size_is_the_smallest(s_M, sigma_0):
    n = accounting.minimum_sample_size(s_M, sigma_0)
    assert s_M / n <= sigma_0 * (1 + 1e-8)
    assert n == 1 or s_M / (n - 1) > sigma_0 * (1 - 1e-8)


def test_the_paper_asks_for_more_records_than_needed():
    """Its minimum sample size is `2 R sqrt(2 p log(1.25/delta)) / (sigma_0 epsilon)`."""
    sensitivity = 2.0 * 3.0 * math.sqrt(10)  # 2 R sqrt(p)
    classical = accounting.classical_sigma(sensitivity, 1.0, 1e-6)
    exact = sensitivity / accounting.mu_of(1.0, 1e-6)
    sizes = [accounting.minimum_sample_size(s_M, 0.1) for s_M in (classical, exact)]
    assert sizes[0] > sizes[1]


@pytest.mark.parametrize(("epsilon", "waste"), [(1.0, 1.43), (2.0, 1.29)])
def test_e5_the_classical_formula_wastes_noise(epsilon, waste):
    delta = 1000**-1.1
    assert accounting.classical_sigma(1.0, epsilon, delta) * accounting.mu_of(
        epsilon, delta
    ) == pytest.approx(waste, abs=0.01)


def test_e5_the_classical_formula_is_invalid_for_large_epsilon():
    met = [
        accounting.delta_of(1.0 / accounting.classical_sigma(1.0, epsilon, 1000**-1.1), epsilon)
        <= 1000**-1.1
        for epsilon in (7.4, 7.8)
    ]
    assert met == [True, False]


@pytest.mark.parametrize(("p", "waste"), [(10, 13.0), (561, 878.0)])
def test_e6_the_covariance_lemma_wastes_noise(p, waste):
    delta = 1000**-1.1
    # |xx' - yy'| <= sqrt(2) for records of norm at most 1.
    needed = math.sqrt(2.0) / accounting.mu_of(1.0, delta)
    assert accounting.lemma_sigma(p, 1, 1.0, delta) / needed == pytest.approx(waste, rel=0.02)
    assert accounting.lemma_sigma(p, 50, 1.0, delta) == pytest.approx(
        accounting.lemma_sigma(p, 1, 1.0, delta) / 50
    )
