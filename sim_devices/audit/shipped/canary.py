"""Two streams that differ in one unit of records: a canary for each thing that can go wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fsir.arrays import Matrix
from fsir.privacy import plan
from fsir.task.task import Task
from sim_devices.audit.pairs import AuditError
from sim_devices.audit.shipped.reference import Stream, stage_named, stage_names

_FAR = 100.0  # times the truncation: as far out as no sensor is


@dataclass(frozen=True, eq=False)
class Streams:
    """Two streams that differ in one unit of records."""

    first: Stream
    second: Stream


def length(task: Task) -> int:
    """How many records a device needs for all its reports."""
    return plan.report_size(task) * (2 if task.asks_for_fresh_records else 1)


def labels_of(task: Task) -> list[Any]:
    """One response of each slice."""
    if task.response.classes:
        return list(task.response.classes)
    return [*task.response.cuts, task.response.cuts[-1] + 1.0]


def orthogonal(task: Task) -> Streams:
    """Records at the centre; one unit of them on the clip,
    or on the clip elsewhere and in another slice.

    The two are orthogonal (for an even number of features) and as long as the clip allows: with the
    counts this is all that theorem 1 allows.
    """
    reach = min(task.clip.truncate, task.clip.norm / math.sqrt(task.p))
    corners = (np.ones(task.p), np.where(np.arange(task.p) % 2, -1.0, 1.0))
    n = length(task)
    labels = labels_of(task)
    y = [labels[k % len(labels)] for k in range(n)]
    X = np.zeros((n, task.p))
    streams = [
        _with_unit(task, (X, y), reach * corner, label)
        for corner, label in zip(corners, labels[:2], strict=True)
    ]
    return Streams(*streams)


def mapped(task: Task) -> Streams:
    """Records of all slices; one unit of them, far on the side of the origin that is opposite to
    the centre of its slice, goes to the other slice and there.

    After the map and without their centres the two are on the clip, and orthogonal if the centres
    are. Whoever clips before the centre is taken away lets them reach farther by its length.
    """
    if task.public is None:
        raise AuditError(f"task {task.name!r} has no public centres: give one that has")
    P = task.public.matrix(task.p)
    labels = labels_of(task)
    X = np.sin(np.arange(1.0, length(task) * task.p + 1)).reshape(-1, task.p) * task.clip.truncate
    y = [labels[k % len(labels)] for k in range(len(X))]
    streams = [
        _with_unit(task, (X, y), -_FAR * task.clip.truncate * np.sign(P @ centre), label)
        for centre, label in zip(task.public.centre_rows()[:2], labels[:2], strict=True)
    ]
    return Streams(*streams)


def relabelled(task: Task) -> Streams:
    """Records of all slices; one unit of them, far out beyond the first centre, goes to the second
    slice and stays where it is.

    Nearest to it is the first centre: the public rule is right about it, and then wrong. Its mapped
    numbers hardly turn and its check does, so that the two rows are about orthogonal if the check
    is as large as the clip.
    """
    if task.public is None:
        raise AuditError(f"task {task.name!r} has no public centres: give one that has")
    labels = labels_of(task)
    X = np.sin(np.arange(1.0, length(task) * task.p + 1)).reshape(-1, task.p) * task.clip.truncate
    y = [labels[k % len(labels)] for k in range(len(X))]
    towards = np.sign(task.public.matrix(task.p) @ task.public.centre_rows()[0])
    x = _FAR * task.clip.truncate * towards
    return Streams(*(_with_unit(task, (X, y), x, label) for label in labels[:2]))


def first_of_slice(task: Task) -> Streams:
    """The last slice is empty, or holds the one record that was in another slice before."""
    labels = labels_of(task)
    X = np.sin(np.arange(1.0, length(task) * task.p + 1)).reshape(-1, task.p) * task.clip.truncate
    y = [labels[k % (len(labels) - 1)] for k in range(len(X))]
    first = _with_unit(task, (X, y), X[0], labels[0])
    return Streams(first, _with_unit(task, (X, y), X[0], labels[-1]))


def beyond_the_clip(task: Task) -> Streams:
    """Every record is far outside, along an axis (where the truncation decides) or along a
    diagonal (where the norm does); one unit of them turns around. The last slice is empty."""
    labels = labels_of(task)
    far = _FAR * task.clip.truncate
    n = length(task)
    axis = np.eye(task.p)[0]
    X = far * np.array([axis if k % 4 == 3 else np.ones(task.p) for k in range(n)])
    y = [labels[k % (len(labels) - 1)] for k in range(n)]
    first = _with_unit(task, (X, y), far * np.ones(task.p), labels[0])
    return Streams(first, _with_unit(task, (X, y), -far * np.ones(task.p), labels[0]))


def half_a_step(task: Task) -> Streams:
    """Sums that stand a hair below or above half a published step: one record decides to which
    side they would be rounded, if they were rounded before the noise."""
    block = stage_named(task, stage_names(task)[0]).sums
    n = length(task)
    hair = 4.0 * block.unit
    labels = labels_of(task)
    share = block.worth / 2.0 / n
    # The middle of a cell of the grid, so that quantising takes away half a step of the grid.
    level = (math.floor(share / block.unit) + 0.5) * block.unit
    missing = block.worth / 2.0 - (n - 1) * math.floor(share / block.unit) * block.unit
    X = np.full((n, task.p), level)
    y = [labels[0]] * n
    below = _with_unit(task, (X, y), np.full(task.p, missing - hair), labels[0])
    return Streams(below, _with_unit(task, (X, y), np.full(task.p, missing + hair), labels[0]))


def _with_unit(task: Task, stream: Stream, x: Matrix, label: Any) -> Stream:
    """The stream with its first unit of records replaced, and all in the units of the sensors."""
    X, y = stream
    unit = task.privacy.unit_records
    changed = X.copy()
    changed[:unit] = x
    centre = np.array(task.features.centre)
    return centre + np.array(task.features.scale) * changed, [label] * unit + list(y[unit:])
