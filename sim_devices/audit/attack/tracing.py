"""The tracing attack: was this record among those that a device has learned from?

The paper's attack takes the inner product of the record with the published direction. The sharper
one here looks at everything that was sent: each number is weighed by its noise, and what any other
record would have done is subtracted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fsir.arrays import Flags, Integers, Matrix
from fsir.estimate.totals import Totals
from fsir.privacy import plan
from fsir.privacy.quantiser import quantiser_of
from fsir.privacy.release import Release
from fsir.task.task import Task
from fsir.wire.messages import Report
from sim_devices.audit.shipped.reference import stage_named
from sim_devices.audit.shipped.scores import reports_of


def along_direction(X: Matrix, signs: Matrix, direction: Matrix, guess: Matrix) -> Matrix:
    """The attack of the paper's introduction: `<x s - guess, direction>`, s = 1 or -1 by class."""
    return np.asarray((X * signs[:, None] - guess) @ direction)


def direction(X: Matrix, signs: Matrix) -> Matrix:
    """The discriminant direction of whitened records: the mean of `x s`."""
    return np.asarray((X * signs[:, None]).mean(axis=0))


def sent_direction(task: Task, messages: Sequence[bytes]) -> Matrix:
    """The same from what an agent has sent: the difference of the two noisy slice sums, over n."""
    report = reports_of(messages)[-1]
    totals = Totals(stage_named(task, report.stage))
    totals.add(_release(report))
    G = totals.sums()
    return np.asarray((G[:, 1] - G[:, 0]) / totals.n)


def against_means(X: Matrix, slices: Integers, members: Flags, H: int) -> Matrix:
    """Scores against exact slice means: `<x - c, sum of (x_i - c) over the members of its slice>`,
    c the mean of all candidates of the slice, which the attacker is assumed to know."""
    scores = np.zeros(len(X))
    for h in range(H):
        rows = slices == h
        if rows.any():
            away = X[rows] - X[rows].mean(axis=0)
            scores[rows] = away @ away[members[rows]].sum(axis=0)
    return scores


def against_reports(task: Task, messages: Sequence[bytes], X: Matrix, slices: Integers) -> Matrix:
    """Scores against everything that was sent, by a matched filter.

    A record adds `f(x)` to the exact sums. The score is `<f(x), (sent - n mean f) / sd^2>`, with
    the mean over all candidates: up to a constant the log-likelihood ratio, for Gaussian noise far
    above what one record adds.
    """
    total = np.zeros(len(X))
    for report in reports_of(messages):
        stage = stage_named(task, report.stage)
        totals = Totals(stage)
        totals.add(_release(report))
        quantiser = quantiser_of(task, stage)
        K = quantiser.clipped(quantiser.whole(X[:, list(stage.features)], slices)) * stage.grid
        total += _matched(stage, totals, K, slices)
    return total


def _matched(stage: plan.Stage, totals: Totals, K: Matrix, slices: Integers) -> Matrix:
    n = totals.n
    code = totals.code()[slices]  # records x columns
    sums = (totals.sums() - n * K.T @ code / len(K)) / stage.sums.sd**2
    score = np.einsum("ij,jk,ik->i", K, sums, code)
    if stage.counts.size:
        share = np.bincount(slices, minlength=stage.slices) / len(K)
        score += ((totals.counts() - n * share) / stage.counts.sd**2)[slices]
    if stage.has_second:
        away = totals.second() - n * K.T @ K / len(K)
        # The upper triangle was sent once; as a symmetric matrix each of its entries counts half.
        weight = (
            away / (2.0 * stage.off_diagonal.sd**2)
            if stage.off_diagonal.size
            else np.zeros_like(away)
        )
        weight[np.diag_indices(stage.p)] = np.diagonal(away) / stage.diagonal.sd**2
        score += np.einsum("ij,jk,ik->i", K, weight, K)
    return np.asarray(score)


def _release(report: Report) -> Release:
    sums, counts, diagonal, off_diagonal = report.blocks
    return Release(report.n, (sums, counts, diagonal, off_diagonal))
