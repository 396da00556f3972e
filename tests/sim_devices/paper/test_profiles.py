"""The paper's mechanisms in batches agree with their definitions, one client at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fsir.privacy.paper import vgm_floor, vgm_noise
from sim_devices.paper import profiles
from sim_devices.paper.cells import printed
from sim_devices.paper.means import run_cell
from tests.sim_devices.paper.places import low


@pytest.fixture
def fleet():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((4, 203, 6)) + 1.0
    return X, X[:, :, 0] + rng.standard_normal((4, 203))


def test_slices_are_the_quantiles_of_each_client(fleet):
    X, y = fleet
    sums, counts = profiles.slice_sums(X, y, 0)
    for k in range(len(X)):
        parts = np.split(np.argsort(y[k]), [round(203 * h / 8) for h in range(1, 8)])
        assert [len(part) for part in parts] == counts[k].tolist()
        np.testing.assert_allclose(sums[k], [X[k, part].sum(axis=0) for part in parts], atol=1e-9)


def test_classes_are_slices(fleet):
    X, y = fleet
    labels = (y > 1.0).astype(float)
    sums, counts = profiles.slice_sums(X, labels, 2)
    np.testing.assert_allclose(
        sums[0], [X[0][labels[0] == h].sum(axis=0) for h in (0, 1)], atol=1e-9
    )
    assert counts.sum() == labels.size


def test_stated_truncates_and_divides_by_n_while_tables_divides_by_slice(fleet):
    X, y = fleet
    centred = X - X.mean(axis=1, keepdims=True)
    stated = profiles.client_statistics(X, y, 0, "stated")
    clipped = np.clip(centred, -profiles.TRUNCATION, profiles.TRUNCATION)
    np.testing.assert_allclose(stated.M.sum(axis=2), clipped.mean(axis=1), atol=1e-5)
    np.testing.assert_allclose(
        stated.radius, np.linalg.norm(clipped, axis=2).max(axis=1), rtol=1e-5
    )
    np.testing.assert_allclose(stated.Sigma[1], clipped[1].T @ clipped[1] / 203, atol=1e-4)
    tables = profiles.client_statistics(X, y, 0, "tables")
    units = centred / np.linalg.norm(centred, axis=2, keepdims=True)
    np.testing.assert_allclose(tables.Sigma[2], units[2].T @ units[2] / 203, atol=1e-5)
    assert np.trace(tables.Sigma, axis1=1, axis2=2) == pytest.approx(1.0, abs=1e-5)
    lowest = np.argsort(y[0])[: round(203 / 8)]
    np.testing.assert_allclose(tables.M[0, :, 0], centred[0, lowest].mean(axis=0), atol=1e-5)


def test_vgm_on_many_clients_is_vgm_on_each(fleet):
    X, y = fleet
    M = profiles.client_statistics(X, y, 0, "stated").M
    Z = np.random.default_rng(1).standard_normal(M.shape)
    floor = vgm_floor(1.5 * math.sqrt(6), 203, 1.0, 203**-1.1)
    batch = profiles.VgmNoise(M).draw(floor, Z)
    for k in range(len(M)):
        np.testing.assert_allclose(batch[k], vgm_noise(M[k], floor, Z[k]), atol=1e-12)


def test_tables_takes_a_standard_deviation_for_a_variance():
    stated = profiles.iid_variance("stated", 10, 800, 8, 1.0, 1e-3)
    tables = profiles.iid_variance("tables", 10, 800, 8, 1.0, 1e-3)
    assert tables == pytest.approx(8 * math.sqrt(stated))


def test_noise_of_the_merged_mean_shrinks_with_clients(fleet):
    X, y = fleet
    one = profiles.client_statistics(X, y, 0, "stated")
    rng = np.random.default_rng(2)
    draws = np.array([profiles.merged_iid(one, 4, "stated", 1.0, 1e-3, rng) for _ in range(300)])
    expected = profiles.iid_variance("stated", 6, 203, 8, 1.0, 1e-3) / 4
    assert draws.var(axis=0).mean() == pytest.approx(expected, rel=0.1)
    Sigmas = np.array(
        [profiles.merged_covariance(one, 4, "stated", 1.0, 1e-3, rng) for _ in range(100)]
    )
    assert np.array_equal(Sigmas, Sigmas.transpose(0, 2, 1))


@pytest.mark.parametrize(
    ("model", "n", "clients"), [("V", 2500, 10), ("IV", 1000, 10), ("II", 5000, 10)]
)
def test_profile_tables_gives_the_papers_cells(model, n, clients):
    cell = low(model, 1.0, n, clients)
    for mechanism in ("iid", "vgm"):
        mean = run_cell(cell, mechanism, "tables", 12, 3)
        paper = printed()[cell, mechanism].loss
        assert abs(mean.loss - paper) < 0.2 * paper + 3.0 * mean.standard_error


def test_as_stated_vgm_is_no_better_than_iid():
    """Erratum E4: with the means and deviations that the text gives,
    the noise along the signal does not help."""
    cell = low("V", 2.0, 5000, 10)
    iid, vgm = (run_cell(cell, mechanism, "stated", 12, 3) for mechanism in ("iid", "vgm"))
    assert vgm.loss > iid.loss - 3.0 * math.hypot(iid.standard_error, vgm.standard_error)
