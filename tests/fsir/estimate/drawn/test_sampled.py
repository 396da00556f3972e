"""Without noise the expected error is found in the space of the slices: the same, and faster."""

from __future__ import annotations

import numpy as np
import pytest

from fsir.estimate import uncertainty
from fsir.estimate.covariance import Levels, Merged, centred, covariance, lifted
from fsir.estimate.directions import directions, whitened
from fsir.estimate.uncertainty import expected_loss

SILENT = Levels(0.0, 0.0, 0.0, 0.0)


def merged(p: int, N: int, seed: int, strength: float, copies: int = 0) -> Merged:
    """Four slices with shifted means; some features more, each the sum of two others."""
    rng = np.random.default_rng(seed)
    h = rng.integers(4, size=N)
    X = rng.standard_normal((N, p)) @ np.diag(rng.uniform(0.2, 2.0, p))
    X[:, :4] += strength * np.eye(4)[h]
    X = np.hstack([X, X[:, :copies] + X[:, copies : 2 * copies]])
    onehot = np.eye(4)[h]
    return centred(X.T @ onehot / N, onehot.mean(0), X.T @ X / N, N, SILENT)


def both(m: Merged, d: int, monkeypatch: pytest.MonkeyPatch) -> tuple[float, float]:
    """The expected error in the space of the slices, and by whole estimates."""
    m, eigen = lifted(m)
    white = whitened(m, m.Sigma, eigen)
    quick = expected_loss(m, m.Sigma, white, d)
    with monkeypatch.context() as patched:
        patched.setattr(uncertainty, "_sampling_losses", lambda *_: None)
        return quick, expected_loss(m, m.Sigma, white, d)


@pytest.mark.parametrize(("p", "d"), [(5, 1), (12, 2), (60, 3)])
@pytest.mark.parametrize("strength", [0.3, 1.0, 3.0])
def test_it_is_that_of_whole_estimates(p, d, strength, monkeypatch):
    quick, whole = both(merged(p, 3000, p + d, strength), d, monkeypatch)
    assert 0.0 < quick < np.sqrt(2 * d)
    assert quick == pytest.approx(whole, rel=1e-6)


def test_where_covariances_need_repair_whole_estimates_are_made(monkeypatch):
    few = merged(30, 60, 1, 1.0)  # of so few records the drawn ones are not positive definite
    quick, whole = both(few, 2, monkeypatch)
    assert quick == whole


def test_features_that_are_sums_of_others_add_no_error_of_their_own(monkeypatch):
    quick, whole = both(merged(12, 3000, 7, 1.0, copies=3), 2, monkeypatch)
    alone, _ = both(merged(12, 3000, 7, 1.0), 2, monkeypatch)
    assert quick < 2.0 * alone
    assert whole > 2.0 * quick


def test_what_is_lifted_is_positive_definite_and_else_untouched():
    singular, (values, vectors) = lifted(merged(12, 3000, 7, 1.0, copies=3))
    assert values.min() > 0.0
    np.testing.assert_allclose((vectors * values) @ vectors.T, singular.Sigma, atol=1e-12)
    regular = merged(12, 3000, 7, 1.0)
    assert lifted(regular)[0] is regular
    known = whitened(regular, regular.Sigma, lifted(regular)[1])
    found = whitened(regular, covariance(regular), None)
    np.testing.assert_allclose(
        np.abs(directions(regular, known, 3)), np.abs(directions(regular, found, 3)), rtol=1e-8
    )
