"""The aggregator's estimate: from merged noisy sums to the subspace that devices use.

`fsir.estimate.covariance` centres and repairs, `fsir.estimate.directions` finds the directions
and counts them, `fsir.estimate.uncertainty` says how far off they may be,
`fsir.estimate.classifier` turns them into a classifier. Nothing here touches data: all of it is
post-processing of what devices have released.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from fsir.arrays import Matrix
from fsir.estimate.classifier import classifier, doubts, pooled_within, with_expectation
from fsir.estimate.covariance import Merged, covariance, lifted, merged
from fsir.estimate.directions import (
    Whitened,
    count_directions,
    directions,
    noise_level,
    standardised,
    whitened,
)
from fsir.estimate.public.corrected import corrected
from fsir.estimate.rounds.across import covariance_across
from fsir.estimate.totals import Totals
from fsir.estimate.trimming import cut
from fsir.estimate.uncertainty import expected_loss
from fsir.task.task import TRIMMED, Task
from fsir.wire.messages import Classifier, Subspace


def estimate(
    task: Task, totals: Totals, *, version: int = 1, refused: int = 0, found: Fit | None = None
) -> Subspace:
    """The subspace from the merged reports of the final stage: the same integers, the same bits.

    Parameters
    ----------
    task
        The task.
    totals
        The sum of all releases of its final stage.
    version
        Counts the estimates of a federation.
    refused
        Reports that were refused, for the record.
    found
        What `fit` has made of these totals, if that is known already.

    Returns
    -------
    Subspace
        The directions, and how far off they are expected to be.

    Raises
    ------
    ValueError
        If nothing has been reported yet.

    References
    ----------
    Li, K.-C. (1991). Sliced inverse regression for dimension reduction. Journal of the American
    Statistical Association 86. What is different here stands in docs/estimate.md.

    Examples
    --------
    >>> import numpy as np
    >>> import fsir
    >>> task = fsir.task_from_table({
    ...     "name": "example",
    ...     "features": {"names": ["a", "b"]},
    ...     "response": {"classes": ["no", "yes"]},
    ...     "clip": {"truncate": 4, "norm": 4},
    ...     "privacy": {"epsilon": 8},
    ...     "report": {"records": 5000},
    ... })
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 2))
    >>> moments = fsir.Moments(task, fsir.first_stage(task))
    >>> moments.learn_many(X, np.where(X[:, 1] + 0.3 * rng.normal(size=5000) > 0, "yes", "no"))
    >>> totals = fsir.Totals(moments.stage)
    >>> totals.add(fsir.release(moments, fsir.SeededNoise(1)))
    >>> subspace = fsir.estimate_subspace(task, totals)
    >>> subspace.basis.round(1) + 0.0  # the second feature alone
    array([[0.],
           [1.]])
    """
    if task.public is not None:
        return corrected(task, task.public, totals, version=version, refused=refused)
    if totals.devices < 1 or totals.n < 1:
        raise ValueError(
            f"{totals.devices} reports about {totals.n} records: "
            "there is nothing to estimate from yet"
        )
    found = found or fit(task, totals)
    m = found.m
    p, H = m.M.shape
    made = found.classifier
    notes = _notes(task, totals.devices, found.seen, found.d)
    accuracy = None
    pooled = found.pooled
    # The tasks of version 0.1 end as they began.
    if made is not None and pooled is not None and task.counts_refused:
        made, prediction = with_expectation(made, m, found.basis, pooled)
        accuracy = prediction.accuracy
        notes += doubts(made, accuracy)
    return Subspace(
        task=task.digest,
        version=version,
        features=tuple(task.features.names[j] for j in totals.stage.features),
        basis=found.basis,
        singular_values=found.white.singular_values,
        noise_level=noise_level(p, H - 1, m.N),
        expected_error=expected_loss(m, found.Sigma, found.white, found.d, 1, found.repair),
        devices=totals.devices,
        records=m.N,
        refused=refused,
        classifier=made,
        notes=tuple(notes),
        expected_accuracy=accuracy,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class Fit:
    """Directions and classifier, and what they were made from."""

    m: Merged
    Sigma: Matrix
    repair: Callable[[Merged], Matrix]  # how the covariance was made
    white: Whitened
    seen: int  # directions that stand out of the noise
    d: int
    basis: Matrix
    pooled: Matrix | None  # covariance within classes, in the subspace
    classifier: Classifier | None


def fit(task: Task, totals: Totals) -> Fit:
    """What merged reports give under a task without a public map."""
    m = merged(totals)
    p, H = m.M.shape
    eigen = None
    if m.levels.silent:
        m, eigen = lifted(m)
    Sigma = covariance(m) if eigen is None else m.Sigma
    white = whitened(m, Sigma, eigen)
    values = white.singular_values
    seen = count_directions(values, p, H - 1, m.N)
    d = min(task.dimension or max(seen, 1), len(values))
    repair: Callable[[Merged], Matrix] = covariance
    if task.rounds > 1 and eigen is None:  # those of one report end as they began
        repair = partial(covariance_across, d=d)
        Sigma = repair(m)
        white = whitened(m, Sigma)
    basis = standardised(m, Sigma, directions(m, white, d))
    classes = task.response.classes
    pooled = pooled_within(m, basis) if classes else None
    made = None if pooled is None else classifier(classes, m, basis, pooled)
    return Fit(
        m=m,
        Sigma=Sigma,
        repair=repair,
        white=white,
        seen=seen,
        d=d,
        basis=basis,
        pooled=pooled,
        classifier=made,
    )


def _notes(task: Task, devices: int, seen: int, d: int) -> list[str]:
    notes = []
    if task.aggregation == TRIMMED and cut(devices) == 0:
        notes.append(
            f"of {devices} reports none is trimmed: a single false one can turn the subspace"
        )
    if seen == 0:
        notes.append(
            "not even the first direction stands out of the noise: "
            "more devices or records are needed"
        )
    elif seen < d:
        notes.append(f"only {seen} of {d} directions stand out of the noise")
    return notes


def projection_loss(A: Matrix, B: Matrix) -> float:
    """`||P_A - P_B||_F` of the spanned spaces: 0 if they are the same, sqrt(2 d) if orthogonal.

    Parameters
    ----------
    A, B
        Bases of two spaces, as columns.

    Returns
    -------
    float
        The Frobenius norm of the difference of the projections on them.

    Examples
    --------
    >>> import numpy as np
    >>> import fsir
    >>> x, y, z = np.eye(3)[:, :, None]
    >>> round(fsir.projection_loss(x, y), 4), round(fsir.projection_loss(x, -2 * x), 4)
    (1.4142, 0.0)
    """
    P = _orthonormal(A)
    Q = _orthonormal(B)
    return float(np.linalg.norm(P @ P.T - Q @ Q.T))


def random_loss(p: int, d: int) -> float:
    """The loss of d directions taken at random among p features: who knows nothing has this.

    The root of the mean square: `trace(P_A P_B)` is `d^2/p` on average.

    >>> round(random_loss(561, 1), 4), random_loss(5, 5)
    (1.413, 0.0)
    """
    return float((2.0 * d * max(1.0 - d / p, 0.0)) ** 0.5)


def angles(A: Matrix, B: Matrix) -> Matrix:
    """The principal angles between two spanned spaces, in degrees, the smallest first.

    Parameters
    ----------
    A, B
        Bases of two spaces, as columns; they may have different dimensions.

    Returns
    -------
    array
        As many angles as the smaller space has dimensions.

    References
    ----------
    Bjorck, A. and Golub, G. H. (1973). Numerical methods for computing angles between linear
    subspaces. Mathematics of Computation 27.

    Examples
    --------
    >>> import numpy as np
    >>> import fsir
    >>> x, y, z = np.eye(3)[:, :, None]
    >>> fsir.angles(np.hstack([x, y]), np.hstack([x, y + z])).round(1)
    array([ 0., 45.])
    """
    P = _orthonormal(A)
    Q = _orthonormal(B)
    if P.shape[1] < Q.shape[1]:
        P, Q = Q, P
    cosines = np.linalg.svd(P.T @ Q, compute_uv=False)
    # Sines are exact where the cosine is flat.
    sines = np.linalg.svd(Q - P @ (P.T @ Q), compute_uv=False)[::-1]
    return np.asarray(np.degrees(np.arctan2(sines, cosines)))


def _orthonormal(basis: Matrix) -> Matrix:
    return np.asarray(np.linalg.qr(np.asarray(basis, dtype=np.float64))[0])
