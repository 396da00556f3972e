from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from fsir.estimate.covariance import Levels, Merged, between, centred, covariance, merged, within
from fsir.estimate.directions import directions, whitened
from fsir.estimate.subspace import angles, estimate, projection_loss
from fsir.estimate.totals import Totals
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import first_stage
from fsir.privacy.release import Release, release
from fsir.task.task import Task
from fsir.wire.decode import decode
from fsir.wire.messages import Subspace, encode
from tests.fsir.simulated import P, federations, model_task, true_directions
from tests.fsir.tasks import task

SILENT = Levels(0.0, 0.0, 0.0, 0.0)
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
    found = []
    for k in range(devices):
        moments = Moments(chosen, first_stage(chosen))
        moments.learn_many(X[k::devices], y[k::devices])
        found.append(release(moments, SeededNoise(7, str(k))))
    return found


def total(chosen: Task, releases: list[Release]) -> Totals:
    totals = Totals(first_stage(chosen))
    for one in releases:
        totals.add(one)
    return totals


def textbook_sir(X: np.ndarray, slices: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Li (1991): standardise, average within slices, principal components of the weighted averages, back again."""
    values, vectors = np.linalg.eigh(np.cov(X.T, bias=True))
    root = vectors @ np.diag(values**-0.5) @ vectors.T
    Z = (X - X.mean(axis=0)) @ root
    V = sum(
        np.mean(slices == h) * np.outer(*2 * [Z[slices == h].mean(axis=0)])
        for h in np.unique(slices)
    )
    eigenvalues, eta = np.linalg.eigh(V)
    return root @ eta[:, ::-1][:, :d], eigenvalues[::-1]


# --- without noise --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("p", "d", "seed"), [(2, 1, 1), (5, 2, 2), (8, 4, 3)])
def test_without_noise_and_clipping_it_is_textbook_sliced_inverse_regression(p, d, seed):
    chosen = unclipped(p, response={"classes": None, "cuts": CUTS}, dimension=d)
    X = correlated(4000, p, seed)
    index = np.linalg.solve(
        np.cov(X.T), X.T - X.mean(axis=0)[:, None]
    )  # any direction is as good as another
    y = (
        np.sin(index[0])
        + index[-1] ** 3
        + 0.3 * np.random.default_rng(seed).standard_normal(len(X))
    )
    subspace = estimate(chosen, total(chosen, reports(chosen, X, y, 3)))
    expected, eigenvalues = textbook_sir(X, np.searchsorted(CUTS, y, side="left"), d)
    assert projection_loss(subspace.basis, expected) < 1e-8
    found = subspace.singular_values**2
    np.testing.assert_allclose(found, eigenvalues[: len(found)], atol=1e-10)
    np.testing.assert_allclose(
        np.cov((X @ subspace.basis).T, bias=True), np.eye(d).squeeze(), atol=1e-8
    )


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_for_classes_it_spans_the_directions_of_linear_discriminant_analysis(classes):
    names = [f"class {h}" for h in range(classes)]
    chosen = unclipped(6, response={"classes": names}, dimension=classes - 1)
    rng = np.random.default_rng(classes)
    h = rng.choice(classes, 3000, p=(weights := np.arange(1.0, classes + 1)) / weights.sum())
    X = correlated(3000, 6, classes) + np.round(rng.standard_normal((classes, 6)) * 256)[h] / 256
    y = np.array(names)[h]
    subspace = estimate(chosen, total(chosen, reports(chosen, X, y)))
    textbook = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    assert projection_loss(subspace.basis, textbook.scalings_[:, : classes - 1]) < 1e-8


def test_changing_units_changes_nothing_but_the_units():
    X = correlated(2000, 4, 9)
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    units = np.array([1.0, 0.5, 4.0, 2.0])
    plain, scaled = (
        unclipped(4),
        unclipped(4, features={"scale": units.tolist(), "centre": [1.0, 0.0, 0.0, -2.0]}),
    )
    one = estimate(plain, total(plain, reports(plain, X, y)))
    other = estimate(scaled, total(scaled, reports(scaled, X * units + [1.0, 0.0, 0.0, -2.0], y)))
    np.testing.assert_allclose(one.basis, other.basis, atol=1e-9)
    np.testing.assert_allclose(one.singular_values, other.singular_values, atol=1e-9)


# --- with noise -----------------------------------------------------------------------------------------------------


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


def test_in_much_noise_it_takes_the_plain_singular_vectors():
    rng = np.random.default_rng(2)
    A = rng.standard_normal((5, 5))
    G = rng.standard_normal((5, 4))
    m = Merged(
        N=100,
        shares=np.full(4, 0.25),
        mean=np.zeros(5),
        M=G - G.mean(1, keepdims=True),
        Sigma=A @ A.T,
        levels=Levels(1e6, 0.0, 0.0, 0.0),
    )
    white = whitened(m, m.Sigma)
    U = np.linalg.svd(m.M)[0][:, :2]
    assert projection_loss(white.eigenvectors @ white.U[:, :2], U) < 1e-4
    assert white.mechanism == pytest.approx(1.0, abs=1e-4)


def test_the_covariance_is_positive_definite_and_untouched_without_noise():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((50, 6))
    shares = np.full(3, 1 / 3)
    G = rng.standard_normal((6, 3)) / 20
    exact = centred(G, shares, X.T @ X / 50, 50, SILENT)
    np.testing.assert_allclose(covariance(exact), exact.Sigma, atol=1e-12)
    np.testing.assert_allclose(within(exact) + between(exact), exact.Sigma, atol=1e-12)
    for size in (1e-3, 0.1, 1.0, 10.0):
        E = rng.standard_normal((6, 6)) * size
        noisy = replace(
            exact, Sigma=exact.Sigma + E + E.T, levels=Levels(0.0, 0.0, 4 * size**2, 2 * size**2)
        )
        for repaired in (covariance(noisy), within(noisy)):
            assert np.linalg.eigvalsh(repaired)[0] > 0
            assert np.isfinite(repaired).all()


def test_replications_on_a_leading_axis_are_the_same_as_one_by_one():
    chosen = model_task("IV", 500, 4.0)
    many = [merged(totals) for _, [totals] in federations([chosen], "IV", 500, 4, 3)]
    parts = {
        name: np.stack([getattr(m, name) for m in many])
        for name in ("shares", "mean", "M", "Sigma")
    }
    stacked = Merged(N=many[0].N, levels=many[0].levels, **parts)
    together = directions(stacked, whitened(stacked, covariance(stacked)), 2)
    for m, found in zip(many, together, strict=True):
        np.testing.assert_allclose(
            found, directions(m, whitened(m, covariance(m)), 2), rtol=1e-8, atol=1e-12
        )


@pytest.mark.parametrize("mechanism", ["gaussian", "iid", "vgm", "none"])
@pytest.mark.parametrize(
    "case", ["zeros", "one class", "a constant feature", "one feature", "two records"]
)
def test_whatever_comes_the_message_is_valid(mechanism, case):
    p = 1 if case == "one feature" else 3
    chosen = task(p, privacy={"mechanism": mechanism, "epsilon": 0.9}, report={"records": 2})
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((40, p)), rng.choice(["a", "b", "c"], 40)
    if case == "zeros":
        X[:] = 0.0
    elif case == "one class":
        y[:] = "b"
    elif case == "a constant feature":
        X[:, 1] = 1.0
    elif case == "two records":
        X, y = X[:2], y[:2]
    subspace = estimate(chosen, total(chosen, reports(chosen, X, y)), version=3, refused=4)
    again = decode(encode(subspace), Subspace)
    np.testing.assert_array_equal(again.basis, subspace.basis)
    assert (again.version, again.refused, again.devices, again.records) == (3, 4, 1, len(X))
    assert 0.0 <= subspace.expected_error <= np.sqrt(2 * subspace.dimension) + 1e-9


def test_nothing_to_estimate_from_is_an_error():
    chosen = task(3)
    with pytest.raises(ValueError, match="0 reports"):
        estimate(chosen, Totals(first_stage(chosen)))


# --- what each idea buys --------------------------------------------------------------------------------------------


def variants(m: Merged, d: int) -> dict[str, np.ndarray]:
    """The estimate, and what it would be without one of its parts or without all of them."""
    values, vectors = np.linalg.eigh(m.Sigma)
    raw = (vectors * np.maximum(values, 0.02)) @ vectors.T  # the bare minimum that makes an inverse
    Sigma, white = covariance(m), whitened(m, covariance(m))
    no_ridge = replace(m, levels=replace(m.levels, off_diagonal=0.0))
    silent = replace(m, levels=SILENT)
    plain = np.linalg.svd(m.M)[0][:, :d]
    return {
        "all": directions(m, white, d),
        "no whitening, no ridge": np.linalg.solve(Sigma, plain),
        "sampling noise only": directions(silent, whitened(silent, Sigma), d),
        "no ridge": directions(no_ridge, replace(white, mechanism=np.zeros(())), d),
        "no shrinkage": directions(m, whitened(m, raw), d),
        "nothing": np.linalg.solve(raw, plain),
    }


def buys(sizes: list[tuple[int, int]], epsilons: tuple[float, ...], count: int) -> dict[str, float]:
    """Mean logarithm of the loss of each variant against the estimate; prints the losses."""
    ratios: dict[str, list[float]] = {}
    for n, K in sizes:
        for model in ("I", "II", "III", "IV", "V"):
            beta = true_directions(model)
            tasks = [
                model_task(model, n, epsilon, 2 * n**-1.1, beta.shape[1]) for epsilon in epsilons
            ]
            losses: list[dict[str, list[float]]] = [{} for _ in tasks]
            for _, found in federations(tasks, model, n, K, count):
                for table, totals in zip(losses, found, strict=True):
                    for name, basis in variants(merged(totals), beta.shape[1]).items():
                        table.setdefault(name, []).append(projection_loss(basis, beta))
            for epsilon, table in zip(epsilons, losses, strict=True):
                means = {name: float(np.mean(values)) for name, values in table.items()}
                print(
                    f"{model:3s} n {n} K {K} epsilon {epsilon:g}  ",
                    "  ".join(f"{k} {v:.3f}" for k, v in means.items()),
                )
                for name, value in means.items():
                    ratios.setdefault(name, []).append(np.log(value / means["all"]))
    return {name: float(np.exp(np.mean(values))) for name, values in ratios.items()}


def test_every_part_of_the_estimate_helps_where_there_is_much_noise():
    found = buys([(500, 1)], (2.0,), 40)
    assert found["nothing"] > 1.2
    assert all(ratio > 0.995 for ratio in found.values()), found


@pytest.mark.slow
def test_what_each_part_of_the_estimate_buys():
    found = buys([(500, 1), (1000, 10), (5000, 50)], (2.0, 4.0), 100)
    print(found)
    assert all(ratio > 0.995 for ratio in found.values()), found


# --- distances ------------------------------------------------------------------------------------------------------


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
