"""How good a subspace is for people who took no part,
and what one would get without the federation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fsir.arrays import Matrix
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
from sim_devices.datasets.population import DeviceStream


def columns(task: Task, subspace: Subspace) -> list[int]:
    """Where the features of a subspace stand in a record of the task."""
    return list(task.features.indices(subspace.features))


def projected(task: Task, subspace: Subspace, streams: Sequence[DeviceStream]) -> Matrix:
    """All records of these people on the estimated directions."""
    X = np.concatenate([stream.X for stream in streams])
    return Projector(task, subspace).project(X[:, columns(task, subspace)])


def accuracy(task: Task, subspace: Subspace, streams: Sequence[DeviceStream]) -> float:
    """Share of records that the subspace's own classifier names rightly,
    every record counting the same."""
    projector = Projector(task, subspace)
    chosen = columns(task, subspace)
    right = [np.array(projector.classify(stream.X[:, chosen])[0]) == stream.y for stream in streams]
    return float(np.mean(np.concatenate(right)))


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
    reports = [_report(task, stage, stream, n, seed) for stream in streams]
    if task.aggregation == TRIMMED:
        rows = np.stack([np.concatenate(report.blocks) for report in reports], axis=1)
        return trimmed_totals(stage, trimmed_sum(rows), len(reports), n * len(reports))
    totals = Totals(stage)
    for report in reports:
        totals.add(report)
    return totals


def _report(task: Task, stage: Stage, stream: DeviceStream, n: int, seed: int) -> Release:
    moments = Moments(task, stage)
    moments.learn_many(stream.X[:n, list(stage.features)], stream.y[:n])
    return release(moments, SeededNoise(seed, stream.device).for_stage(stage.name))


def controls(
    task: Task,
    devices: Sequence[DeviceStream],
    volunteer: DeviceStream | None,
    unseen: Sequence[DeviceStream],
) -> dict[str, float]:
    """Accuracies that put a result into perspective:
    by guessing, from the volunteer alone, and without noise."""
    responses = np.concatenate([stream.y for stream in devices])
    labels, counts = np.unique(responses, return_counts=True)
    guessed = np.concatenate([stream.y for stream in unseen]) == labels[counts.argmax()]
    accuracies = {"always the commonest class": float(np.mean(guessed))}
    plain = replace(task, privacy=replace(task.privacy, mechanism="none"))
    if volunteer is not None:
        alone = replace(plain, report=replace(plain.report, records=len(volunteer)))
        subspace = without_network(alone, [volunteer])
        accuracies["the volunteer alone, no reports"] = accuracy(alone, subspace, unseen)
    subspace = without_network(plain, devices)
    accuracies["the same devices without noise"] = accuracy(plain, subspace, unseen)
    return accuracies
