"""The paper's five simulation models, in low and in high dimension, and the law of their response.

With a = beta1'X, b = beta2'X and e ~ N(0, 1) independent of X:

    I    Y = 1 if 1/(1 + exp(a)) > 1/2       X ~ N(0, I)
         (or, `logistic`, 1 with that probability)
    II   Y = 1/(0.5 + (a + 1)^2) + e         X ~ N(0, Sigma), Sigma_ij = 0.5^|i-j|
    III  Y = a/(b^3 + 1) + e                 X ~ N(0, I)
    IV   Y = sin(a) exp(b + e)               X ~ N(0, Sigma)
    V    X = beta1 Y + beta2 Y^2 + N(0, I)   Y ~ N(0, 1)

Settings: `low`, all p features active; `high`, the first s (5 up to p = 500, then 10). There the
paper prints a beta2 that overlaps beta1 although it calls them orthogonal: `high` has them
disjoint, `high-printed` is as printed.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal, get_args

import numpy as np

from fsir.arrays import Integers, Matrix
from sim_devices.datasets.population import DataError, DeviceStream, Population

Model = Literal["I", "II", "III", "IV", "V"]
Setting = Literal["low", "high", "high-printed"]
MODELS: tuple[Model, ...] = get_args(Model)
CORRELATED: tuple[Model, ...] = ("II", "IV")
CORRELATION = 0.5


def dimension(model: Model) -> int:
    """Dimension d of the subspace."""
    return 1 if _known(model) in ("I", "II") else 2


def slice_count(model: Model) -> int:
    """Number of slices H in the paper's tables."""
    return 2 if _known(model) == "I" else 8


def active_size(p: int, setting: Setting) -> int:
    """Number s of features that the response depends on: the first s."""
    if setting not in get_args(Setting):
        raise DataError(f"setting {setting!r}: choose one of {', '.join(get_args(Setting))}")
    size = p if setting == "low" else 5 if p <= 500 else 10
    if not 2 <= size <= p:
        raise DataError(
            f"p = {p}: the setting {setting} needs at least {max(2, min(size, 5))} features"
        )
    return size


def true_basis(model: Model, p: int, setting: Setting, rng: np.random.Generator) -> Matrix:
    """Normalised beta, p x d. Random for I and II (weights from U(0.4, 0.8)),
    fixed for the others."""
    weights = rng.uniform(0.4, 0.8, active_size(p, setting)) if dimension(model) == 1 else None
    return _basis(model, p, setting, weights)


def simulate(
    model: Model,
    n: int,
    p: int,
    setting: Setting,
    rng: np.random.Generator,
    *,
    basis: Matrix | None = None,
    clients: int | None = None,
    logistic: bool = False,
) -> tuple[Matrix, Matrix]:
    """n records: X (n x p) and y. With `clients`, that many times n at once:
    X (clients x n x p), y (clients x n).

    Without `basis` the first thing drawn from rng is `true_basis`.
    """
    beta = true_basis(model, p, setting, rng) if basis is None else basis
    if beta.shape != (p, dimension(model)):
        raise DataError(
            f"basis of shape {beta.shape}: model {model} in {p} features needs "
            f"{(p, dimension(model))}"
        )
    total = n * (clients or 1)
    X = rng.standard_normal((total, p))
    if model == "V":
        y = rng.standard_normal(total)
        X += np.column_stack([y, y**2]) @ beta.T
    else:
        if model in CORRELATED:
            _correlate(X)
        y = _response(model, X @ beta, rng, logistic)
    return (X, y) if clients is None else (X.reshape(clients, n, p), y.reshape(clients, n))


def covariance(model: Model, features: Integers) -> Matrix:
    """Of these features under the model; of V, given the response.

    >>> covariance("II", np.arange(2)).tolist(), covariance("III", np.arange(2)).tolist()
    ([[1.0, 0.5], [0.5, 1.0]], [[1.0, 0.0], [0.0, 1.0]])
    """
    lag = np.abs(np.subtract.outer(features, features))
    return CORRELATION**lag if model in CORRELATED else (lag == 0).astype(np.float64)


def cut_points(
    model: Model, p: int, setting: Setting, slices: int | None = None
) -> tuple[float, ...]:
    """Public cut points that give slices of equal probability:
    quantiles of y under the model, from no data.

    For III, IV and V beta is fixed, and so is the law of y. For II it moves a little with the
    random beta; the cuts are those of equal weights, and the probability of a slice is then off by
    less than 0.005.
    """
    if model == "I":
        return (0.5,)
    count = slice_count(model) if slices is None else slices
    if count < 2:
        raise DataError(f"slices = {count}: at least 2 are needed")
    quantiles = response_quantiles(model, np.arange(1, count) / count, p, setting)
    # + 0.0: no negative zero in a public task.
    return tuple((np.round(quantiles, 6) + 0.0).tolist())


def response_quantiles(model: Model, probabilities: Matrix, p: int, setting: Setting) -> Matrix:
    """Quantiles of y under the model, II to V; right to about 1e-4 in probability."""
    values, cdf = _law(model, p, setting)
    return np.asarray(np.interp(probabilities, cdf, values))


def response_cdf(model: Model, y: Matrix, p: int, setting: Setting) -> Matrix:
    """P(Y <= y) under the model, II to V: a public rank of the response."""
    values, cdf = _law(model, p, setting)
    return np.asarray(np.interp(y, values, cdf))


def population(
    model: Model, devices: int, n: int, p: int, seed: int, setting: Setting = "low", unseen: int = 2
) -> Population:
    """`devices` streams of n records and `unseen` more that take no part, all of one beta:
    `true_basis(model, p, setting, numpy.random.default_rng(seed))`."""
    rng = np.random.default_rng(seed)
    X, y = simulate(model, n, p, setting, rng, clients=devices + unseen)
    responses = np.where(y > 0.5, "1", "0") if model == "I" else y
    streams = tuple(
        DeviceStream(f"client-{k:04d}", X[k], responses[k]) for k in range(devices + unseen)
    )
    return Population(
        name=f"model-{model}",
        features=tuple(f"x{j + 1}" for j in range(p)),
        classes=("0", "1") if model == "I" else (),
        devices=streams[:devices],
        unseen=streams[devices:],
        caveats=("simulated: every device draws from the same law, which real devices do not",),
    )


def _known(model: Model) -> Model:
    if model not in MODELS:
        raise DataError(f"model {model!r}: the models are {', '.join(MODELS)}")
    return model


def _basis(model: Model, p: int, setting: Setting, weights: Matrix | None) -> Matrix:
    size = active_size(p, setting)
    beta = np.zeros((p, dimension(model)))
    if weights is not None:
        beta[:size, 0] = weights
    else:
        half = math.ceil(size / 2)
        beta[:half, 0] = 1.0
        beta[(size - half - 1 if setting == "high-printed" else half) : size, 1] = 1.0
    return np.asarray(beta / np.linalg.norm(beta, axis=0))


def _correlate(X: Matrix) -> None:
    """Turn independent columns into an autoregressive sequence, in place:
    O(p) instead of a p x p root of Sigma."""
    X[:, 1:] *= math.sqrt(1 - CORRELATION**2)
    for j in range(1, X.shape[1]):
        X[:, j] += CORRELATION * X[:, j - 1]


def _response(model: Model, index: Matrix, rng: np.random.Generator, logistic: bool) -> Matrix:
    a = index[:, 0]
    if model == "I":
        # 1/(1 + exp(a)) > u  if and only if  a < log(1/u - 1)
        u = rng.random(len(a)) if logistic else np.full(len(a), 0.5)
        return (a < np.log1p(-u) - np.log(u)).astype(np.float64)
    noise = rng.standard_normal(len(a))
    if model == "II":
        return 1 / (0.5 + (a + 1) ** 2) + noise
    b = index[:, 1]
    return a / (b**3 + 1) + noise if model == "III" else np.sin(a) * np.exp(b + noise)


@lru_cache(maxsize=64)
def _law(model: Model, p: int, setting: Setting) -> tuple[Matrix, Matrix]:
    """Values of y, dense around 0 and up to a million, and their probabilities.

    Given one of the indices a, b the rest is normal, so that P(Y <= y) is a mean over that one
    index: here over the midpoints of 4,000 equally probable cells. The random beta of model II is
    taken with equal weights.
    """
    from scipy.special import ndtr, ndtri  # slow to import, and only needed here and below

    if _known(model) == "I":
        raise DataError("model I has two classes and no distribution function: use its labels")
    beta = _basis(model, p, setting, np.ones(active_size(p, setting)) if model == "II" else None)
    active = np.flatnonzero(beta.any(axis=1))
    known = beta[active].T @ covariance(model, active) @ beta[active]
    z = ndtri((np.arange(4000) + 0.5) / 4000)
    values = 1e-3 * np.sinh(np.linspace(-21.4, 21.4, 2001))
    if model == "V":
        return values, np.asarray(ndtr(values))
    return values, np.array([_given_one(model, y, z, known).mean() for y in values])


def _given_one(model: Model, y: float, z: Matrix, covariance: Matrix) -> Matrix:
    """P(Y <= y | a) for II and IV, P(Y <= y | b) for III,
    where that index is z standard deviations."""
    from scipy.special import ndtr

    if model == "II":
        return np.asarray(ndtr(y - 1 / (0.5 + (math.sqrt(covariance[0, 0]) * z + 1) ** 2)))
    first, second = (1, 0) if model == "III" else (0, 1)
    known = math.sqrt(covariance[first, first]) * z
    # The other index, given the known one, is normal with this mean and variance.
    mean = known * covariance[0, 1] / covariance[first, first]
    variance = covariance[second, second] - covariance[0, 1] ** 2 / covariance[first, first]
    if model == "III":
        slope = 1 / (known**3 + 1)
        return np.asarray(ndtr((y - slope * mean) / np.sqrt(slope**2 * variance + 1)))
    # Y has the sign of sin(a), and |Y| <= r if and only if b + e <= log(r / |sin a|).
    sine = np.sin(known)
    with np.errstate(divide="ignore"):
        radius = np.log(np.abs(y / sine))
    within = ndtr((radius - mean) / math.sqrt(variance + 1))
    return np.where(sine > 0, within, 1.0) if y >= 0 else np.where(sine < 0, 1 - within, 0.0)
