"""Two streams that differ in a canary, and what the public formulas predict about their reports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fsir.arrays import Matrix
from fsir.privacy import plan
from fsir.privacy.moments import Moments
from fsir.privacy.release import release
from fsir.task.task import Task
from fsir.wire.decode import decode
from fsir.wire.messages import Report
from sim_devices.audit.mechanisms import Tap

Stream = tuple[Matrix, Sequence[Any]]  # records and responses


@dataclass(frozen=True, eq=False)
class Streams:
    """Two streams that differ in one unit of records."""

    first: Stream
    second: Stream


def canary(task: Task, n: int) -> Streams:
    """n records at the centre; one unit of them on the clip,
    or on the clip elsewhere and in another slice.

    The two are orthogonal (for an even number of features) and as long as the clip allows: with the
    counts this is all that theorem 1 allows.
    """
    p = task.p
    unit = task.privacy.unit_records
    centre = np.array(task.features.centre)
    scale = np.array(task.features.scale)
    reach = min(task.clip.truncate, task.clip.norm / math.sqrt(p))
    labels: list[Any] = list(task.response.classes)
    if not labels:
        # One response of each interval.
        labels = [*task.response.cuts, task.response.cuts[-1] + 1.0]
    streams: list[Stream] = []
    corners = (np.ones(p), np.where(np.arange(p) % 2, -1.0, 1.0))
    for corner, label in zip(corners, labels[:2], strict=True):
        X = np.tile(centre, (n, 1))
        y = [labels[k % len(labels)] for k in range(n)]
        X[:unit] = centre + scale * reach * corner
        y[:unit] = [label] * unit
        streams.append((X, y))
    return Streams(*streams)


def reports_of(messages: Sequence[bytes]) -> list[Report]:
    """The reports among published messages."""
    return [decode(raw, Report) for raw in messages]


def vector(task: Task, messages: Sequence[bytes]) -> Matrix:
    """All numbers in the reports, in standard deviations of the noise that each should have."""
    parts: list[Matrix] = []
    for report in reports_of(messages):
        if report.votes is not None:
            parts.append(report.votes.astype(np.float64).reshape(-1))
            continue
        blocks = stage_named(task, report.stage).blocks
        for block, values in zip(blocks, report.blocks, strict=True):
            parts.append(values.astype(np.float64) * (block.worth / block.sd))
    return np.concatenate(parts)


def predicted(task: Task, messages: Sequence[bytes], streams: Streams) -> Matrix:
    """By how much the numbers of such messages should differ
    between the streams, in the same units."""
    parts: list[Matrix] = []
    for report in reports_of(messages):
        stage = stage_named(task, report.stage)
        if report.votes is not None:
            parts.append(np.zeros(report.votes.size))
            continue
        taps = Tap(), Tap()
        for tap, (X, y) in zip(taps, (streams.first, streams.second), strict=True):
            moments = Moments(task, stage)
            moments.learn_many(X[:, list(stage.features)], np.asarray(y))
            release(moments, tap)
        pairs = zip(taps[0].values, taps[1].values, taps[0].sds, strict=True)
        parts += [(first - second) / sd for first, second, sd in pairs]
    return np.concatenate(parts)


def stage_named(task: Task, name: str) -> plan.Stage:
    """The stage of a report; the final one is about the features
    that `shipped` makes the active set."""
    first = plan.first_stage(task)
    if first.name == name or task.screening is None:
        return first
    return plan.final_stage(task, tuple(range(task.screening.limit)))
