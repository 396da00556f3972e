"""The estimate: the textbook's without noise, the same bits in any order, valid whatever comes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from fsir.estimate.subspace import angles, estimate, projection_loss, random_loss
from fsir.estimate.totals import Totals
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import first_stage
from fsir.privacy.release import Release, release
from fsir.task.task import Task
from fsir.wire.decode import decode
from fsir.wire.messages import Subspace, encode
from tests.fsir.simulated import P
from tests.fsir.tasks import task

CUTS = [-1.0, -0.3, 0.2, 1.1]


def unclipped(p: int, **changes: object) -> Task:
    """No noise, and clips that no record reaches; the grid is 2^-8."""
    return task(
        p, clip={"truncate": 64.0, "norm": 64.0 * p**0.5}, privacy={"mechanism": "none"}, **changes
    )


def correlated(records: int, p: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((records, p)) @ rng.standard_normal((p, p)) + rng.standard_normal(p)
    return np.round(X * 256) / 256


def reports(chosen: Task, X: np.ndarray, y: np.ndarray, devices: int = 1) -> list[Release]:
    releases = []
    for k in range(devices):
        moments = Moments(chosen, first_stage(chosen))
        moments.learn_many(X[k::devices], y[k::devices])
        releases.append(release(moments, SeededNoise(7, str(k))))
    return releases


def total(chosen: Task, releases: list[Release]) -> Totals:
    totals = Totals(first_stage(chosen))
    for one in releases:
        totals.add(one)
    return totals


def textbook_sir(X: np.ndarray, slices: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Li (1991): principal components of the weighted averages of standardised slices."""
    values, vectors = np.linalg.eigh(np.cov(X.T, bias=True))
    root = vectors @ np.diag(values**-0.5) @ vectors.T
    Z = (X - X.mean(axis=0)) @ root
    means = {h: Z[slices == h].mean(axis=0) for h in np.unique(slices)}
    V = sum(np.mean(slices == h) * np.outer(mean, mean) for h, mean in means.items())
    eigenvalues, eta = np.linalg.eigh(V)
    return root @ eta[:, ::-1][:, :d], eigenvalues[::-1]


# --- without noise --------------------------------------------------------------------------------


@pytest.mark.parametrize(("p", "d", "seed"), [(2, 1, 1), (5, 2, 2), (8, 4, 3)])
def test_without_noise_and_clipping_it_is_textbook_sliced_inverse_regression(p, d, seed):
    chosen = unclipped(p, response={"classes": None, "cuts": CUTS}, dimension=d)
    X = correlated(4000, p, seed)
    # Any direction is as good as another.
    index = np.linalg.solve(np.cov(X.T), X.T - X.mean(axis=0)[:, None])
    noise = np.random.default_rng(seed).standard_normal(len(X))
    y = np.sin(index[0]) + index[-1] ** 3 + 0.3 * noise
    subspace = estimate(chosen, total(chosen, reports(chosen, X, y, 3)))
    expected, eigenvalues = textbook_sir(X, np.searchsorted(CUTS, y, side="left"), d)
    assert projection_loss(subspace.basis, expected) < 1e-8
    squares = subspace.singular_values**2
    np.testing.assert_allclose(squares, eigenvalues[: len(squares)], atol=1e-10)
    coordinates = np.cov((X @ subspace.basis).T, bias=True)
    np.testing.assert_allclose(coordinates, np.eye(d).squeeze(), atol=1e-8)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_for_classes_it_spans_the_directions_of_linear_discriminant_analysis(classes):
    names = [f"class {h}" for h in range(classes)]
    chosen = unclipped(6, response={"classes": names}, dimension=classes - 1)
    rng = np.random.default_rng(classes)
    weights = np.arange(1.0, classes + 1)
    h = rng.choice(classes, 3000, p=weights / weights.sum())
    X = correlated(3000, 6, classes) + np.round(rng.standard_normal((classes, 6)) * 256)[h] / 256
    y = np.array(names)[h]
    subspace = estimate(chosen, total(chosen, reports(chosen, X, y)))
    textbook = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    assert projection_loss(subspace.basis, textbook.scalings_[:, : classes - 1]) < 1e-8


def test_changing_units_changes_nothing_but_the_units():
    X = correlated(2000, 4, 9)
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    units = np.array([1.0, 0.5, 4.0, 2.0])
    centre = [1.0, 0.0, 0.0, -2.0]
    plain = unclipped(4)
    scaled = unclipped(4, features={"scale": units.tolist(), "centre": centre})
    one = estimate(plain, total(plain, reports(plain, X, y)))
    other = estimate(scaled, total(scaled, reports(scaled, X * units + centre, y)))
    np.testing.assert_allclose(one.basis, other.basis, atol=1e-9)
    np.testing.assert_allclose(one.singular_values, other.singular_values, atol=1e-9)


# --- with noise -----------------------------------------------------------------------------------


@settings(max_examples=25)
@given(st.permutations(range(6)), st.lists(st.integers(0, 5), max_size=4))
def test_any_order_of_reports_gives_the_same_bits(order, withdrawn):
    chosen = task(4, privacy={"epsilon": 2.0})
    X = correlated(600, 4, 5)
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    releases = reports(chosen, X, y, 6)
    totals = total(chosen, [releases[k] for k in order])
    for k in withdrawn:
        totals.add(releases[k], -1)
        totals.add(releases[k])
    assert encode(estimate(chosen, totals)) == encode(estimate(chosen, total(chosen, releases)))


@pytest.mark.parametrize("mechanism", ["gaussian", "iid", "vgm", "none"])
@pytest.mark.parametrize(
    "case", ["zeros", "one class", "a constant feature", "one feature", "two records"]
)
def test_whatever_comes_the_message_is_valid(mechanism, case):
    p = 1 if case == "one feature" else 3
    chosen = task(p, privacy={"mechanism": mechanism, "epsilon": 0.9}, report={"records": 2})
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, p))
    y = rng.choice(["a", "b", "c"], 40)
    if case == "zeros":
        X[:] = 0.0
    elif case == "one class":
        y[:] = "b"
    elif case == "a constant feature":
        X[:, 1] = 1.0
    elif case == "two records":
        X = X[:2]
        y = y[:2]
    subspace = estimate(chosen, total(chosen, reports(chosen, X, y)), version=3, refused=4)
    again = decode(encode(subspace), Subspace)
    np.testing.assert_array_equal(again.basis, subspace.basis)
    assert (again.version, again.refused, again.devices, again.records) == (3, 4, 1, len(X))
    assert 0.0 <= subspace.expected_error <= np.sqrt(2 * subspace.dimension) + 1e-9


def test_nothing_to_estimate_from_is_an_error():
    chosen = task(3)
    with pytest.raises(ValueError, match="0 reports"):
        estimate(chosen, Totals(first_stage(chosen)))


# --- distances ------------------------------------------------------------------------------------


@given(st.integers(1, 3), st.integers(0, 1000))
def test_loss_and_angles_do_not_depend_on_the_basis_and_agree(d, seed):
    rng = np.random.default_rng(seed)
    A, B = rng.standard_normal((2, 6, d))
    mixed = A @ rng.standard_normal((d, d))
    assert projection_loss(A, mixed) < 1e-6
    assert projection_loss(A, B) == pytest.approx(projection_loss(mixed, B), abs=1e-6)
    sines = np.sin(np.radians(angles(A, B)))
    assert projection_loss(A, B) == pytest.approx(np.sqrt(2 * (sines**2).sum()), abs=1e-7)


def test_distances_of_known_spaces():
    e = np.eye(P)
    assert projection_loss(e[:, :2], e[:, 2:4]) == pytest.approx(2.0)
    assert angles(e[:, :2], e[:, 1:3]) == pytest.approx([0.0, 90.0])
    tilted = np.cos(np.radians(1e-6)) * e[:, :1] + np.sin(np.radians(1e-6)) * e[:, 1:2]
    assert angles(e[:, :1], tilted) == pytest.approx([1e-6], rel=1e-6)
    assert angles(e[:, :1], e[:, :3]) == pytest.approx([0.0])


@pytest.mark.parametrize(("d", "p"), [(1, 3), (2, 10), (5, 6)])
def test_directions_by_lot_are_so_far_off(d, p):
    rng = np.random.default_rng(0)
    drawn = [projection_loss(*rng.normal(size=(2, p, d))) ** 2 for _ in range(2000)]
    assert np.mean(drawn) ** 0.5 == pytest.approx(random_loss(p, d), rel=0.03)
