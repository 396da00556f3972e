"""How good a subspace is for people who took no part, and what one would get without the federation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fsir.estimate.projection import Projector
from fsir.estimate.screening import select
from fsir.estimate.subspace import estimate
from fsir.estimate.totals import Totals
from fsir.estimate.trimming import trimmed_sum, trimmed_totals
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import final_stage, first_stage
from fsir.privacy.release import release
from fsir.task.task import TRIMMED, Task
from fsir.wire.messages import Subspace
from sim_devices.datasets.population import DeviceStream


def columns(task: Task, subspace: Subspace) -> list[int]:
    """Where the features of a subspace stand in a record of the task."""
    return list(task.features.indices(subspace.features))


def projected(
    task: Task, subspace: Subspace, streams: Sequence[DeviceStream]
) -> NDArray[np.float64]:
    """All records of these people on the estimated directions."""
    X = np.concatenate([stream.X for stream in streams])
    return Projector(task, subspace).project(X[:, columns(task, subspace)])


def accuracy(task: Task, subspace: Subspace, streams: Sequence[DeviceStream]) -> float:
    """Share of records that the subspace's own classifier names rightly, every record counting the same."""
    projector, chosen = Projector(task, subspace), columns(task, subspace)
    right = [np.array(projector.classify(stream.X[:, chosen])[0]) == stream.y for stream in streams]
    return float(np.mean(np.concatenate(right)))


def without_network(task: Task, streams: Sequence[DeviceStream], seed: int = 0) -> Subspace:
    """The same two stages, computed in one place: for controls, and to check what came over the network."""
    n = task.report.records or min(len(stream) for stream in streams)
    stage = first_stage(task)
    totals = _merged(task, streams, n, tuple(range(task.p)), seed)
    if task.screening is not None:
        active = select(task.screening, totals)
        stage = final_stage(task, active)
        totals = _merged(task, streams, n, active, seed, final=True)
    assert totals.stage == stage
    return estimate(task, totals)


def _merged(
    task: Task,
    streams: Sequence[DeviceStream],
    n: int,
    features: tuple[int, ...],
    seed: int,
    *,
    final: bool = False,
) -> Totals:
    stage = final_stage(task, features) if final else first_stage(task)
    totals, rows = Totals(stage), []
    for stream in streams:
        moments = Moments(task, stage)
        moments.learn_many(stream.X[:n, list(features)], stream.y[:n])
        released = release(moments, SeededNoise(seed, stream.device).for_stage(stage.name))
        if task.aggregation == TRIMMED:
            rows.append(np.concatenate(released.blocks))
        else:
            totals.add(released)
    return (
        trimmed_totals(stage, trimmed_sum(np.stack(rows, axis=1)), len(rows), n * len(rows))
        if rows
        else totals
    )


def controls(
    task: Task,
    devices: Sequence[DeviceStream],
    volunteer: DeviceStream | None,
    unseen: Sequence[DeviceStream],
) -> dict[str, float]:
    """Accuracies that put a result into perspective: by guessing, from the volunteer alone, and without noise."""
    labels, counts = np.unique(np.concatenate([stream.y for stream in devices]), return_counts=True)
    commonest = labels[counts.argmax()]
    found = {
        "always the commonest class": float(
            np.mean(np.concatenate([stream.y == commonest for stream in unseen]))
        )
    }
    plain = replace(task, privacy=replace(task.privacy, mechanism="none"))
    if volunteer is not None:
        alone = replace(plain, report=replace(plain.report, records=len(volunteer)))
        found["the volunteer alone, no reports"] = accuracy(
            alone, without_network(alone, [volunteer]), unseen
        )
    found["the same devices without noise"] = accuracy(
        plain, without_network(plain, devices), unseen
    )
    return found
