"""What sampling explains of a covariance goes across the directions, where slices have it alike."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from fsir.estimate.covariance import Levels, Merged, centred, covariance
from fsir.estimate.directions import directions, whitened
from fsir.estimate.rounds.across import covariance_across
from fsir.estimate.subspace import fit, projection_loss
from fsir.estimate.totals import Totals
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import first_stage
from fsir.privacy.release import release
from tests.fsir.tasks import task

P = 6
N = 4000
FEDERATIONS = 60
QUIET = Levels(1e-6, 1e-6, 2e-6, 1e-6)
ALIKE = np.eye(P)
AXIS = np.eye(P)[:, :1]


def apart(rng, spread=ALIKE):
    """Two classes whose records scatter alike, around two centres."""
    y = rng.integers(2, size=N)
    X = rng.standard_normal((N, P)) @ np.linalg.cholesky(spread).T
    X[:, 0] += 3.0 * (2 * y - 1)
    return X, y


def together(rng):
    """Records that are alike in all directions, cut in two by a plane."""
    X = rng.standard_normal((N, P))
    return X, (X[:, 0] > 0).astype(int)


def reported(X, y, rng, levels=QUIET):
    """What devices would report of them, with a little noise."""
    p = X.shape[1]
    indicator = np.eye(2)[y]
    G = X.T @ indicator / len(X) + levels.sums**0.5 * rng.standard_normal((p, 2))
    counts = indicator.mean(0) + levels.counts**0.5 * rng.standard_normal(2)
    E = levels.off_diagonal**0.5 * rng.standard_normal((p, p))
    return centred(G, counts, X.T @ X / len(X) + (E + E.T) / 2**0.5, len(X), levels)


def losses(world, truth=AXIS):
    """Mean losses, with the covariance of one report and with that of many rounds."""
    rng = np.random.default_rng(4)
    found = []
    for _ in range(FEDERATIONS):
        m = reported(*world(rng), rng)
        found.append(
            [
                projection_loss(directions(m, whitened(m, Sigma), 1), truth)
                for Sigma in (covariance(m), covariance_across(m, 1))
            ]
        )
    return np.mean(found, axis=0)


def test_what_sampling_explains_goes_where_classes_scatter_alike():
    before, now = losses(apart)
    assert now < 0.6 * before


def test_it_stays_where_slices_cut_what_is_alike():
    before, now = losses(together)
    assert now == pytest.approx(before, rel=0.01)


def test_what_is_really_there_across_the_directions_stays():
    spread = 0.6 ** np.abs(np.subtract.outer(np.arange(P), np.arange(P)))
    before, now = losses(lambda rng: apart(rng, spread), np.linalg.solve(spread, AXIS))
    assert now == pytest.approx(before, rel=0.02)


def test_many_at_once_are_as_one_by_one():
    rng = np.random.default_rng(5)
    each = [reported(*apart(rng), rng) for _ in range(3)]
    stacked = {
        field.name: np.stack([getattr(m, field.name) for m in each])
        for field in fields(Merged)
        if field.name not in ("N", "levels")
    }
    several_at_once = covariance_across(Merged(N=N, levels=QUIET, **stacked), 1)
    for found, m in zip(several_at_once, each, strict=True):
        np.testing.assert_allclose(found, covariance_across(m, 1), atol=1e-12)


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("size", [1e-8, 1e-2, 10.0])
@pytest.mark.parametrize("p", [2, P])
def test_it_is_positive_definite_however_much_noise_there_is(d, size, p):
    rng = np.random.default_rng(6)
    X, y = apart(rng)
    m = reported(X[:, :p], y, rng, Levels(size, size, 2 * size, size))
    assert np.linalg.eigvalsh(covariance_across(m, d))[0] > 0.0


def fitted(of):
    """What some reports give under a task."""
    totals = Totals(first_stage(of))
    rng = np.random.default_rng(7)
    for device in range(9):
        moments = Moments(of, totals.stage)
        moments.learn_many(rng.standard_normal((100, of.p)), list("abca") * 25)
        totals.add(release(moments, SeededNoise(device)))
    return fit(of, totals)


def test_only_estimates_of_several_rounds_are_made_with_it():
    found = fitted(task(privacy={"epsilon": 8.0}, report={"rounds": 3}))
    np.testing.assert_array_equal(found.Sigma, covariance_across(found.m, found.d))
    once = fitted(task(privacy={"epsilon": 8.0}))
    np.testing.assert_array_equal(once.Sigma, covariance(once.m))
