"""The aggregator's estimate: from merged noisy sums to the subspace that devices use.

`fsir.estimate.covariance` centres and repairs, `fsir.estimate.directions` finds the directions,
`fsir.estimate.dimension` counts them, `fsir.estimate.uncertainty` says how far off they may be,
`fsir.estimate.classifier` turns them into a classifier. Nothing here touches data: all of it is
post-processing of what devices have released.
"""

from __future__ import annotations

import numpy as np

from fsir.arrays import Matrix
from fsir.estimate.classifier import classifier
from fsir.estimate.covariance import covariance, merged
from fsir.estimate.dimension import count_directions, noise_level
from fsir.estimate.directions import directions, standardised, whitened
from fsir.estimate.totals import Totals
from fsir.estimate.trimming import cut
from fsir.estimate.uncertainty import expected_loss
from fsir.task.task import TRIMMED, Task
from fsir.wire.messages import Subspace


def estimate(task: Task, totals: Totals, *, version: int = 1, refused: int = 0) -> Subspace:
    """The subspace from the merged reports of the final stage: the same integers, the same bits."""
    if totals.devices < 1 or totals.n < 1:
        raise ValueError(
            f"{totals.devices} reports about {totals.n} records: "
            "there is nothing to estimate from yet"
        )
    m = merged(totals)
    p, H = m.M.shape
    Sigma = covariance(m)
    white = whitened(m, Sigma)
    values = white.singular_values
    seen = count_directions(values, p, H - 1, m.N)
    d = min(task.dimension or max(seen, 1), len(values))
    basis = standardised(m, Sigma, directions(m, white, d))
    classes = task.response.classes
    return Subspace(
        task=task.digest,
        version=version,
        features=tuple(task.features.names[j] for j in totals.stage.features),
        basis=basis,
        singular_values=values,
        noise_level=noise_level(p, H - 1, m.N),
        expected_error=expected_loss(m, Sigma, white, d),
        devices=totals.devices,
        records=totals.n,
        refused=refused,
        classifier=classifier(classes, m, basis) if classes else None,
        notes=_notes(task, totals.devices, seen, d),
    )


def _notes(task: Task, devices: int, seen: int, d: int) -> tuple[str, ...]:
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
    return tuple(notes)


def projection_loss(A: Matrix, B: Matrix) -> float:
    """`||P_A - P_B||_F` of the spanned spaces: 0 if they are the same, sqrt(2 d) if orthogonal."""
    P = _orthonormal(A)
    Q = _orthonormal(B)
    return float(np.linalg.norm(P @ P.T - Q @ Q.T))


def angles(A: Matrix, B: Matrix) -> Matrix:
    """The principal angles between two spanned spaces, in degrees, the smallest first."""
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
