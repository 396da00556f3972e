"""The mechanisms of the paper, errata E1 and E2 mended, and what is wrong with them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsir.estimate.totals import Totals
from fsir.privacy import accounting, paper
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import first_stage
from fsir.privacy.release import release
from tests.fsir.tasks import task


def privacy(mechanism, **changes):
    return task(5, privacy={"mechanism": mechanism, **changes})


@pytest.mark.parametrize("g", [1, 4])
def test_the_cost_of_iid_follows_from_its_noise(g):
    stage = first_stage(privacy("iid", unit_records=g))
    sums = accounting.joint_mu(stage.norm, stage.norm, stage.sums.sd, math.inf)
    second = math.sqrt(2.0) * stage.norm**2 / stage.diagonal.sd
    assert stage.counts.sd == pytest.approx(stage.sums.sd / stage.norm)
    assert stage.mu == pytest.approx(g * accounting.compose(sums, second))


# --- the vectorised Gaussian mechanism, errata E1 and E2 mended -----------------------------------


@given(st.integers(1, 10**6))
def test_e1_the_floor_is_a_variance_that_falls_with_n(n):
    C = 3.0
    epsilon = 1.0
    delta = 1e-3
    floor = paper.vgm_floor(C, n, epsilon, delta)
    assert floor == pytest.approx(8.0 * C**2 * math.log(2.0 / delta) / (n * epsilon) ** 2)
    assert paper.vgm_floor(C, 2 * n, epsilon, delta) == pytest.approx(floor / 4)
    assert paper.vgm_floor(C, n, 2 * epsilon, delta) == pytest.approx(floor / 4)


@given(
    st.lists(st.floats(0.0, 1e6), min_size=1, max_size=8).map(lambda s: sorted(s, reverse=True)),
    st.integers(0, 4),
)
def test_e2_eigengaps_are_positive_and_add_up_to_the_largest(s, more):
    gaps = paper.eigengaps(np.array(s), len(s) + more)
    assert (gaps >= 0.0).all()
    assert gaps.sum() == pytest.approx(s[0])
    assert len(gaps) == len(s) + more


@pytest.mark.parametrize("d", [None, 1, 2])
def test_vgm_noise_has_the_covariance_of_algorithm_2(d):
    rng = np.random.default_rng(0)
    W, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    M = W[:, :3] @ np.diag([9.0, 2.0, 1.0]) @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
    noise = paper.vgm_noise(M, 0.5, rng.normal(size=(4, 300_000 // 3)), d)
    expected = np.array([0.5 + 7.0, 0.5 + (1.0 if d == 2 else 0.0), 0.5, 0.5])
    covariance = np.cov(W.T @ noise)
    assert np.abs(covariance - np.diag(expected)).max() < 0.15


def test_e3_the_noise_of_vgm_lies_along_the_private_singular_vectors():
    x = np.array([1.0, 2.0, -2.0]) / 3.0
    M = np.outer(x, [1.0, -1.0])
    noise = paper.vgm_noise(M, 1e-12, np.random.default_rng(0).normal(size=(3, 200)))
    leading = np.linalg.svd(noise)[0][:, 0]
    assert abs(leading @ x) > 1.0 - 1e-6


def test_a_release_by_vgm_has_the_floor_of_the_plan_at_least():
    published = privacy("vgm", delta=1e-3)
    stage = first_stage(published)
    assert stage.sums.sd**2 == pytest.approx(
        paper.vgm_floor(stage.norm, 1, stage.epsilon, stage.delta)
    )
    moments = Moments(published, stage)
    rng = np.random.default_rng(0)
    moments.learn_many(rng.normal(size=(100, 5)), rng.choice(["a", "b", "c"], 100))
    off = []
    for seed in range(200):
        totals = Totals(stage)
        totals.add(release(moments, SeededNoise(seed)))
        off.append(totals.sums() - moments.sums() * stage.grid)
    spread = np.linalg.eigvalsh(np.cov(np.concatenate(off, axis=1)))
    assert spread[0] > 0.7 * stage.sums.sd**2
    assert spread[-1] > spread[0]
    assert abs(np.mean(off)) < stage.sums.sd


def test_a_single_feature_has_a_single_direction():
    noise = paper.vgm_noise(np.array([[2.0, -2.0]]), 0.0, np.ones((1, 2)))
    assert noise.shape == (1, 2)
    assert np.abs(noise) == pytest.approx(math.sqrt(math.hypot(2.0, 2.0)))
