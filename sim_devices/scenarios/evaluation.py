"""How good a subspace is for people who took no part, and federations without a network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fsir.arrays import Flags, Matrix
from fsir.estimate.projection import Projector
from fsir.estimate.screening import select
from fsir.estimate.subspace import estimate
from fsir.estimate.totals import Totals
from fsir.estimate.trimming import trimmed_sum, trimmed_totals
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import Stage, final_stage, first_stage
from fsir.privacy.release import Release, release
from fsir.task.task import TRIMMED, Task
from fsir.wire.messages import Subspace
from sim_devices.datasets.filled import filled
from sim_devices.datasets.population import DeviceStream
from sim_devices.scenarios.opened import opened_by_two


@dataclass(frozen=True)
class Judged:
    """A classifier before records that it has never seen."""

    accuracy: float  # share of records that it names rightly, every record counting the same
    confidence: float  # what it says of itself: the mean probability of the class that it names
    wrong: Flags = field(compare=False, repr=False)  # for each record, whether it is mistaken


def columns(task: Task, subspace: Subspace) -> list[int]:
    """Where the features of a subspace stand in a record of the task."""
    return list(task.features.indices(subspace.features))


def projected(task: Task, subspace: Subspace, streams: Sequence[DeviceStream]) -> Matrix:
    """All records of these people on the estimated directions."""
    X = np.concatenate([stream.X for stream in streams])
    return Projector(task, subspace).project(X[:, columns(task, subspace)])


def judged(task: Task, subspace: Subspace, streams: Sequence[DeviceStream]) -> Judged:
    """The subspace's own classifier on all records of these people."""
    projector = Projector(task, subspace)
    chosen = columns(task, subspace)
    wrong = []
    said = []
    for stream in streams:
        labels, confidences = projector.classify(stream.X[:, chosen])
        wrong.append(np.array(labels) != stream.y)
        said.append(confidences)
    mistaken = np.concatenate(wrong)
    return Judged(float(np.mean(~mistaken)), float(np.mean(np.concatenate(said))), mistaken)


def accuracy(task: Task, subspace: Subspace, streams: Sequence[DeviceStream]) -> float:
    """Share of records that the subspace's own classifier names rightly."""
    return judged(task, subspace, streams).accuracy


def noiseless(task: Task) -> Task:
    """The same task without any noise, for controls."""
    return replace(task, privacy=task.privacy._replace(mechanism="none"))


def without_reports(task: Task) -> Subspace:
    """What a task with public centres knows before anybody has reported."""
    return estimate(task, Totals(first_stage(task)))


def without_network(task: Task, streams: Sequence[DeviceStream], seed: int = 0) -> Subspace:
    """The same two stages, computed in one place:
    for controls, and to check what came over the network."""
    n = task.report.records or min(len(stream) for stream in streams)
    totals = _merged(task, first_stage(task), streams, n, seed)
    if task.screening is not None:
        stage = final_stage(task, select(task.screening, totals))
        totals = _merged(task, stage, streams, n, seed)
    return estimate(task, totals)


def _merged(task: Task, stage: Stage, streams: Sequence[DeviceStream], n: int, seed: int) -> Totals:
    if task.secure is not None:
        reports = [report_of(task, stage, stream, n, seed) for stream in streams]
        devices = [stream.device for stream in streams]
        return opened_by_two(task, task.secure, stage, devices, reports, seed)
    if task.aggregation == TRIMMED:
        reports = [report_of(task, stage, stream, n, seed) for stream in streams]
        rows = np.stack([np.concatenate(report.blocks) for report in reports], axis=1)
        return trimmed_totals(stage, trimmed_sum(rows), len(reports), n * len(reports))
    totals = Totals(stage)
    for stream in streams:
        totals.add(report_of(task, stage, stream, n, seed))
    return totals


def report_of(task: Task, stage: Stage, stream: DeviceStream, n: int, seed: int) -> Release:
    """What this device reports of its first n records; if it has fewer, the rest are unlabelled."""
    offered = filled(stream, n)
    moments = Moments(task, stage)
    moments.learn_many(offered.X[:n, list(stage.features)], offered.y[:n])
    return release(moments, SeededNoise(seed, stream.device).for_stage(stage.name))
