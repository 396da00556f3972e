"""From records to the law of what would be published:
the shipped mechanisms, and the mistakes that must be found.

The shipped ones are asked, not rewritten: a tap in the place of the noise writes down every value
that the release would perturb, and with how much noise. Whether an agent publishes that law is
another question: `shipped` answers it, from bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from fsir.arrays import Integers, Matrix
from fsir.estimate.votes import ccmd_votes as paper_votes
from fsir.privacy import accounting, plan
from fsir.privacy import paper as published
from fsir.privacy.moments import Moments
from fsir.privacy.noise import Noise
from fsir.privacy.release import release
from fsir.task.task import Task
from sim_devices.audit.bounds.laws import Certain, Gaussian, Law
from sim_devices.audit.claim import Claim
from sim_devices.audit.pairs import AuditError, Records

Mechanism = Callable[[Records, Claim], Law]


class Tap(Noise):
    """Stands where the noise stands and writes down what it is asked to do."""

    def __init__(self) -> None:
        self.values: list[Matrix] = []
        self.sds: list[Matrix] = []

    def normals(self, count: int) -> Matrix:
        """Refuse what could not be described."""
        raise AuditError(
            f"{count} normals asked for: this mechanism draws noise that the tap cannot describe"
        )

    def perturb(self, values: Matrix, sd: float, step: int) -> Integers:
        """Write down the exact integers and the sd of their noise."""
        self.values.append(values.astype(np.float64))
        self.sds.append(np.full(values.size, sd))
        return np.zeros(values.size, np.int64)

    def law(self) -> Gaussian:
        """The law of the values, before they are rounded to the published
        step (which is post-processing)."""
        return Gaussian(np.concatenate(self.values)[:, None], np.concatenate(self.sds) ** 2)


def learned(task: Task, stage: plan.Stage, records: Records) -> Moments:
    """The accumulators of one stage after these records."""
    moments = Moments(task, stage)
    moments.learn_many(records.X[:, list(stage.features)], [str(h) for h in records.slices])
    return moments


def law_of_stages(task: Task, stages: list[plan.Stage], records: Records) -> Gaussian:
    """The law of all reports of a device about the same records."""
    tap = Tap()
    for stage in stages:
        release(learned(task, stage, records), tap)
    return tap.law()


def law_of_fresh(task: Task, stages: list[plan.Stage], records: Records) -> Gaussian:
    """The law of two reports of a device, each about half of the records."""
    half = len(records.X) // 2
    tap = Tap()
    for stage, part in zip(stages, (slice(half), slice(half, 2 * half)), strict=True):
        release(learned(task, stage, Records(records.X[part], records.slices[part])), tap)
    return tap.law()


def exact_sums(task: Task, records: Records) -> Certain:
    """What `none` publishes."""
    tap = Tap()
    for stage in plan.all_stages(task):
        release(learned(task, stage, records), tap)
    return Certain(np.concatenate(tap.values).tobytes())


def whole_release(mechanism: str) -> Mechanism:
    """Slice sums, counts and second moment as shipped."""

    def law(records: Records, claim: Claim) -> Law:
        task = claim.task(mechanism)
        return law_of_stages(task, [plan.first_stage(task)], records)

    return law


def no_noise(records: Records, claim: Claim) -> Law:
    """The exact sums, as `none` publishes them."""
    return exact_sums(claim.task("none"), records)


def two_stage_task(claim: Claim, records: str) -> Task:
    """The task that makes this claim in two reports with the same clip."""
    return claim.task("gaussian", records=records, final_norm=claim.norm, limit=claim.p, keep=1)


def two_stages(share: bool) -> Mechanism:
    """Screening and final report on the same records;
    without sharing, each spends the whole budget."""

    def law(records: Records, claim: Claim) -> Law:
        task = two_stage_task(claim, "same" if share else "fresh")
        stages = [plan.first_stage(task), plan.final_stage(task, tuple(range(claim.p)))]
        return law_of_stages(task, stages, records)

    return law


def noised_twice(records: Records, claim: Claim) -> Law:
    """The default release, and on a retry the same data with fresh noise."""
    task = claim.task("gaussian")
    return law_of_stages(task, [plan.first_stage(task)] * 2, records)


def vgm(records: Records, claim: Claim) -> Law:
    """The paper's vectorised Gaussian mechanism on the slice means, which have an (epsilon,
    delta) of their own."""
    # A task of twice the budget: half of it is for the covariance, which is not part of this
    # question.
    task = replace(claim, epsilon=2.0 * claim.epsilon, delta=2.0 * claim.delta).task("vgm")
    stage = plan.first_stage(task)
    M = learned(task, stage, records).sums() * stage.sums.unit / claim.n
    # With the identity in the place of the draws the noise is its own root: W V^(1/2).
    root = published.vgm_noise(M, (stage.sums.sd / claim.n) ** 2, np.eye(claim.p), claim.dimension)
    variances = (root * root).sum(axis=0)
    return Gaussian(M, variances, root / np.sqrt(variances))


def clip_from_data(records: Records, claim: Claim) -> Law:
    """The paper's covariance lemma on records divided by the
    largest norm among them (erratum E7)."""
    largest = np.linalg.norm(records.X, axis=1).max()
    X = records.X / largest
    upper = np.triu_indices(claim.p)
    sd = accounting.lemma_sigma(claim.p, claim.n, claim.epsilon, claim.delta)
    return Gaussian((X.T @ X / claim.n)[upper][:, None], np.full(len(upper[0]), sd**2))


def ccmd_votes(records: Records, claim: Claim) -> Law:
    """The multiset of indices that the paper's filter uploads (erratum E8)."""
    task = claim.task("none")
    stage = plan.first_stage(task)
    moments = learned(task, stage, records)
    votes = paper_votes(moments.sums() * stage.grid, moments.counts(), claim.n, claim.threshold)
    return Certain(np.packbits(votes).tobytes())


def centred(records: Records, claim: Claim) -> Law:
    """The default release of records from which the device has
    subtracted their mean (erratum E9)."""
    task = claim.task("gaussian")
    stage = plan.first_stage(task)
    tap = Tap()
    moments = learned(task, stage, records)
    release(moments, tap)
    sums = moments.sums()
    counts = moments.counts()
    n = claim.n
    mean = sums.sum(axis=1) / n
    second = moments.second()
    if second is None:
        raise AuditError(
            "a centred release needs the second moment; audit a task without screening"
        )
    away = second - n * np.outer(mean, mean)
    centred_sums = (sums - np.outer(mean, counts)).reshape(-1)
    tap.values = [centred_sums, counts, np.diagonal(away), away[np.triu_indices(claim.p, 1)]]
    return tap.law()


# What an agent runs by itself, and with a proof.
PROVEN: dict[str, Callable[[Claim], Task]] = {
    "gaussian": lambda claim: claim.task("gaussian"),
    "two-stage": lambda claim: two_stage_task(claim, "same"),
    "iid": lambda claim: claim.task("iid"),
}
MECHANISMS: dict[str, Mechanism] = {
    "gaussian": whole_release("gaussian"),
    "iid": whole_release("iid"),
    "two-stage": two_stages(share=True),
    "vgm": vgm,
    "none": no_noise,
    "clip-from-data": clip_from_data,
    "ccmd": ccmd_votes,
    "centred": centred,
    "renoised": noised_twice,
    "unweighted": two_stages(share=False),
}
