"""What a task costs and gives, as plain values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from aggregator.tasks import mapped
from aggregator.tasks.forecast import (
    directions,
    expected_error,
    last_stage,
)
from fsir.errors import FsirError, some
from fsir.estimate.subspace import random_loss
from fsir.privacy.accounting import minimum_sample_size
from fsir.privacy.claims import statement
from fsir.privacy.plan import Stage, all_stages
from fsir.tables.csv_table import CsvTable
from fsir.task.slicing import UNKNOWN
from fsir.task.task import Task
from fsir.wire.length import report_bytes
from fsir.wire.plausible import allowed_sizes

_TOLERATED = (0.1, 0.05, 0.02)  # noise of a slice mean, in standardised units


Shares = Mapping[str, float]  # of the records, by slice


def checked(
    task: Task, devices: list[int], signal: float, shares: Shares | None = None
) -> dict[str, Any]:
    """What a program may want to know of the task: noise, costs, and a forecast for each fleet.

    How rare each slice is tells its public sample, or `shares`; else they are taken to be alike.
    """
    shares = shares or shares_of(task)
    records, most = allowed_sizes(task)
    # A deadline without a smallest number of records leaves open how many there will be.
    counts = [k for k in devices if _opens(task, k)] if records > 1 else []
    sized = records if counts else most
    answer = {
        "task": task.name,
        "digest": task.digest.hex(),
        "proven": statement(task).proven,
        "records": records,
        "most_records": most,
        "rarest_share": min(shares.values()),
        "never_opened": [k for k in devices if not _opens(task, k)],
        "stages": [_stage(task, stage, sized, shares) for stage in all_stages(task)],
    }
    if task.public is None:
        stage = last_stage(task)
        return answer | {
            "signal": signal,
            "random_loss": random_loss(stage.p, directions(task, stage)),
            "expected_error": {k: expected_error(task, records, k, signal) for k in counts},
        }
    public = task.public
    found = {k: asdict(mapped.forecast(task, public, records, k)) for k in [0, *counts]}
    return answer | {
        "random_loss": random_loss(task.p, mapped.directions(task, public)),
        "without_reports": found[0],
        "forecast": {k: found[k] for k in counts},
        "expected_error": {k: found[k]["loss"] for k in counts},
    }


def _opens(task: Task, devices: int) -> bool:
    """Whether so many devices make a cohort, where there must be one."""
    return task.secure is None or devices // task.secure.groups >= task.secure.cohort


def shares_of(task: Task) -> dict[str, float]:
    """The share of each slice in the public sample; where nothing is known, one of H."""
    labels = task.slicing.labels
    if task.public is None:
        return dict.fromkeys(labels, 1.0 / len(labels))
    return _bounded(dict(zip(labels, task.public.shares, strict=True)), task.public.records)


def shares_in(task: Task, table: CsvTable) -> dict[str, float]:
    """The same from a table of public records, for a task that does not tell."""
    table.require("response.name", task.response.name)
    slices = task.slicing.slices_of(table.values(task.response.name))
    known = slices[slices != UNKNOWN]
    if not len(known):
        raise FsirError(
            f"{table.option} {table.path}: no row has a {task.response.name!r} that the task "
            f"knows; it knows {some(task.slicing.labels)}"
        )
    counts = np.bincount(known, minlength=task.slicing.count) / len(known)
    return _bounded(dict(zip(task.slicing.labels, counts.tolist(), strict=True)), len(known))


def _bounded(shares: Shares, records: int) -> dict[str, float]:
    """Where a sample has none, as if it had one: nobody knows how few there are."""
    return {label: max(share, 1.0 / records) for label, share in shares.items()}


def _stage(task: Task, stage: Stage, records: int, shares: Shares) -> dict[str, Any]:
    sd = stage.sums.sd
    share = min(shares.values())
    tolerated = _TOLERATED if sd > 0 else ()
    needed = {f"{noise:g}": minimum_sample_size(sd / share, noise) for noise in tolerated}
    return {
        "stage": stage.name,
        "features": len(stage.features),
        "coordinates": stage.p,
        "numbers": sum(stage.sizes),
        "bytes": _bytes(task, stage),
        "norm": stage.norm,
        "mu": stage.mu if math.isfinite(stage.mu) else None,
        "noise_of_a_sum": sd,
        "noise_of_a_mean": sd / (records * share),
        "noise_by_slice": {h: sd / (records * each) for h, each in shares.items()},
        "records_for_noise": needed,
        "noise_of_an_opened_sum": _opened_noise(stage),
    }


def _opened_noise(stage: Stage) -> float | None:
    """Of the smallest sum that two aggregators open: of a cohort, and of both."""
    if stage.cohort is None:
        return None
    return math.sqrt(stage.cohort * stage.sums.sd**2 + 2.0 * stage.sums.added**2)


def _bytes(task: Task, stage: Stage) -> int:
    if task.screens_by_votes and stage is all_stages(task)[0]:
        return stage.p * stage.slices // 8 + 100
    return report_bytes(stage)
