"""What becomes of axes under another basis, whatever the two are."""

from __future__ import annotations

import numpy as np
import pytest

from edge_agent.recognition.turning import turn
from fsir.estimate.subspace import angles, projection_loss

P = 9  # features


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def tilted(A: np.ndarray, degrees: float, seed: int = 0) -> np.ndarray:
    """A basis whose space lies at this angle to that of A, in all its directions."""
    d = A.shape[1]
    Q, T = np.linalg.qr(A)
    away = np.linalg.qr(np.hstack([Q, normal(P, d, seed=seed)]))[0][:, d:]
    angle = np.radians(degrees)
    return (np.cos(angle) * Q + np.sin(angle) * away) @ T


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("d", [1, 2, 5])
def test_another_basis_of_the_same_space_is_read_without_loss(seed, d):
    A = normal(P, d, seed=seed)
    X = normal(50, P, seed=seed + 1)
    B = A @ normal(d, d, seed=seed + 2)
    found = turn(A, B)
    assert found.only_turned
    assert found.loss < 1e-6
    np.testing.assert_allclose(found.axes, A, atol=1e-12)
    np.testing.assert_allclose((X @ B) @ found.reading, X @ A, atol=1e-9)


@pytest.mark.parametrize("degrees", [1.0, 10.0, 14.0, 20.0, 40.0])
@pytest.mark.parametrize("seed", range(5))
def test_axes_follow_a_space_that_moves_and_keep_their_lengths_and_angles(seed, degrees):
    A = normal(P, 2, seed=seed)
    B = tilted(A, degrees, seed) @ normal(2, 2, seed=seed + 1)
    found = turn(A, B)
    assert found.only_turned == (degrees < 15.0)
    assert abs(found.degrees - degrees) < 1e-6
    assert abs(found.loss - projection_loss(A, B)) < 1e-9
    np.testing.assert_allclose(angles(found.axes, B), 0.0, atol=1e-5)
    np.testing.assert_allclose(found.axes.T @ found.axes, A.T @ A, atol=1e-9)
    np.testing.assert_allclose(B @ found.reading, found.axes, atol=1e-9)
    # No record moves by more than the chord of the angle.
    chord = 2.0 * np.sin(np.radians(degrees) / 2.0)
    moved = np.linalg.norm(found.axes - A, 2)
    assert moved <= chord * np.linalg.norm(A, 2) + 1e-9


def test_directions_that_have_left_are_dropped_and_new_ones_are_not_known():
    A = normal(P, 3)
    Q = np.linalg.qr(np.hstack([A, normal(P, 2, seed=1)]))[0]
    B = np.column_stack([Q[:, 0], Q[:, 2], Q[:, 3]]) @ normal(3, 3, seed=2)
    found = turn(A, B)
    X = normal(20, P, seed=3)
    assert found.kept.shape == (3, 2)
    assert not found.only_turned
    carried = found.carried(X @ A)
    np.testing.assert_allclose(carried[:, :2], (X @ B @ found.reading)[:, :2], atol=1e-9)
    assert np.isnan(carried[:, 2:]).all()


@pytest.mark.parametrize("d", [2, 3, 6])
def test_more_directions_leave_the_old_axes_as_they_were(d):
    A = normal(P, 2)
    B = np.hstack([A, normal(P, d - 2, seed=1)]) @ normal(d, d, seed=2)
    found = turn(A, B)
    np.testing.assert_allclose(found.axes[:, :2], A, atol=1e-9)
    z = np.array([[1.0, np.nan]])
    np.testing.assert_array_equal(found.carried(z)[0, :2], z[0])


def test_of_a_space_with_nothing_in_common_nothing_is_kept():
    Q = np.linalg.qr(normal(P, 4))[0]
    found = turn(Q[:, :2], Q[:, 2:])
    assert found.kept.shape == (2, 0)
    assert np.isnan(found.carried(np.ones((3, 2)))).all()


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e-12, 1e12])
def test_a_strange_scale_gives_finite_numbers(size):
    found = turn(normal(P, 2), size * normal(P, 2, seed=1))
    assert np.isfinite(found.axes).all()


def test_no_numbers_at_all_are_an_error():
    with pytest.raises(np.linalg.LinAlgError):
        turn(normal(P, 2), np.full((P, 2), np.nan))
