"""The subspace of a task with a public map: the public sample, corrected by the reports.

Directions, classifier and what to expect of them come from the posterior, in the coordinates of the
map; what is emitted is about the features of the task again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fsir.arrays import Matrix
from fsir.estimate.classifier import doubts
from fsir.estimate.directions import count_directions, fixed_signs, noise_level
from fsir.estimate.prediction import Rule, Strangers, predicted
from fsir.estimate.public.loss import corrected_loss
from fsir.estimate.public.posterior import Posterior, posterior, sharpened, uncorrected
from fsir.estimate.public.within import whitening_of
from fsir.estimate.totals import Totals
from fsir.task.public_map import Public
from fsir.task.task import Task
from fsir.wire.messages import Classifier, Subspace

_LEAST_GAIN = 0.01  # of accuracy
_SURE_SD = 0.05  # of how often the public rule is right: with more, the accuracy is a rough one


@dataclass(frozen=True, eq=False, kw_only=True)
class _Directions:
    """All directions that tell slices apart, the most informative one first."""

    whitening: Matrix  # coordinates x coordinates: to unit covariance within slices
    basis: Matrix  # coordinates x directions, of unit total variance
    singular_values: Matrix  # of the slice means, whitened by the covariance within slices
    level: float  # the singular value that noise alone may give
    seen: int  # directions that stand out of it


def corrected(
    task: Task, public: Public, totals: Totals, *, version: int, refused: int
) -> Subspace:
    """The subspace from the public sample and the reports, of which there may be none."""
    classes = task.response.classes
    known = posterior(public, totals, task.clip.norm)
    notes = []
    P = public.matrix(task.p)
    found = _directions(known, P)
    if classes and not _worth_it(known, found.basis):
        known = uncorrected(known)
        found = _directions(known, P)
        notes.append("the reports add nothing to what is public, whose own rule is kept")
    widest = found.basis.shape[1]
    d = min(task.dimension or (widest if classes else max(found.seen, 1)), widest)
    basis = P @ found.basis
    classifier = None
    accuracy = None
    if classes:
        weights, bias = _discriminant(known, found.basis)
        prediction = predicted(Rule(weights @ found.basis.T, bias), _strangers(known))
        accuracy = prediction.accuracy
        classifier = Classifier(
            classes=classes,
            weights=weights,
            bias=bias,
            centroids=known.centres @ found.basis,
            basis=basis if d < widest else None,
            temperature=prediction.temperature,
            doubtful=tuple(classes[h] for h in known.doubtful),
            guess=float(known.shares.max()),
            whitening=found.whitening,
            centres=known.centres @ found.whitening,
        )
        notes += doubts(classifier, accuracy)
        notes += _open(known)
    if found.seen < widest:
        notes.append(f"{found.seen} of {widest} directions stand out of the noise")
    return Subspace(
        task=task.digest,
        version=version,
        features=task.features.names,
        basis=basis[:, :d],
        singular_values=_of_total(found.singular_values),
        noise_level=float(_of_total(np.array(found.level))),
        expected_error=corrected_loss(known, d, task.p - public.coordinates),
        devices=totals.devices,
        records=known.N,
        refused=refused,
        classifier=classifier,
        notes=tuple(notes),
        expected_accuracy=accuracy,
    )


def foreseen(
    task: Task, public: Public, totals: Totals, times: int
) -> tuple[float, float | None] | None:
    """Expected error and accuracy with so many times as many reports that say the same.

    None while the public rule is kept: when reports will outweigh it they do not tell.
    """
    known = posterior(public, totals, task.clip.norm)
    found = _directions(known, public.matrix(task.p))
    classes = task.response.classes
    if classes and not _worth_it(known, found.basis):
        return None
    more = sharpened(known, times)
    widest = found.basis.shape[1]
    d = min(task.dimension or (widest if classes else max(found.seen, 1)), widest)
    error = corrected_loss(more, d, task.p - public.coordinates)
    if not classes:
        return error, None
    weights, bias = _discriminant(more, found.basis)
    rule = Rule(weights @ found.basis.T, bias)
    return error, predicted(rule, _strangers(more)).accuracy


def _directions(known: Posterior, P: Matrix) -> _Directions:
    means = known.centres - known.shares @ known.centres
    whitening = whitening_of(known.within)
    weighted = whitening @ means.T * np.sqrt(known.shares)
    U, s, _ = np.linalg.svd(weighted, full_matrices=False)
    q, H = weighted.shape
    k = min(q, H - 1)
    s = s[:k]
    # An entry of the weighted means has this variance, about; whitening only makes it smaller.
    variance = float((known.shares * known.variances).sum()) / H
    basis = whitening @ U[:, :k] / np.sqrt(1.0 + s * s)
    return _Directions(
        whitening=whitening,
        basis=basis * fixed_signs(P @ basis),
        singular_values=s,
        level=noise_level(q, H - 1, 1.0 / variance),
        seen=count_directions(s, q, H - 1, 1.0 / variance),
    )


def _of_total(s: Matrix) -> Matrix:
    """Singular values of slice means whitened by the total covariance, as other tasks have them."""
    return np.asarray(s / np.sqrt(1.0 + s * s))


def _worth_it(known: Posterior, basis: Matrix) -> bool:
    """Whether the corrected rule is expected to be right more often than the public one is.

    By a point where nearly all that was reported is noise; with little noise, by anything. Among
    people who scatter as the rule takes them to: who takes noise for scatter is found out here.
    """
    if known.N == 0 or known.public_right is None:
        return True
    weights, bias = _discriminant(known, basis)
    people = replace(_strangers(known), shapes=(known.within,))
    found = predicted(Rule(weights @ basis.T, bias), people)
    return found.accuracy >= known.public_right + _LEAST_GAIN * (1.0 - known.believed)


def _open(known: Posterior) -> list[str]:
    """What is to be said where few reports leave open how often strangers are named rightly."""
    sd = known.public_right_sd
    if sd is None or sd <= _SURE_SD:
        return []
    return [
        "the expected accuracy is a rough one: it follows from how often the public rule is right, "
        f"which reports tell to within about {100 * sd:.0f} points only"
    ]


def _discriminant(known: Posterior, basis: Matrix) -> tuple[Matrix, Matrix]:
    """Weights and bias of linear discriminant analysis in directions that hold all it needs."""
    centroids = known.centres @ basis
    weights = np.asarray(np.linalg.solve(basis.T @ known.within @ basis, centroids.T).T)
    return weights, np.log(known.shares) - 0.5 * (weights * centroids).sum(1)


def _strangers(known: Posterior) -> Strangers:
    nearest = Rule(known.public, -0.5 * (known.public**2).sum(1))
    return Strangers(
        centres=known.centres,
        variances=known.variances,
        shapes=(known.within, np.eye(len(known.within))),
        shares=known.shares,
        public=nearest,
        public_right=known.public_right,
    )
