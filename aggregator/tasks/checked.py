"""What a task costs and gives, as plain values."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from aggregator.tasks import mapped
from aggregator.tasks.forecast import (
    directions,
    expected_error,
    last_stage,
    report_bytes,
)
from fsir.estimate.subspace import random_loss
from fsir.privacy.accounting import minimum_sample_size
from fsir.privacy.claims import statement
from fsir.privacy.plan import Stage, all_stages
from fsir.task.task import Task
from fsir.wire.plausible import allowed_sizes

_TOLERATED = (0.1, 0.05, 0.02)  # noise of a slice mean, in standardised units


def checked(task: Task, devices: list[int], signal: float) -> dict[str, Any]:
    """What a program may want to know of the task: noise, costs, and a forecast for each fleet."""
    records, _ = allowed_sizes(task)
    # A deadline without a smallest number of records leaves open how many there will be.
    counts = devices if records > 1 else []
    answer = {
        "task": task.name,
        "digest": task.digest.hex(),
        "proven": statement(task).proven,
        "records": records,
        "rarest_share": rarest(task)[1],
        "stages": [_stage(task, stage, records) for stage in all_stages(task)],
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


def rarest(task: Task) -> tuple[str | None, float]:
    """The slice with the fewest records, and its share; where nothing is known, one of H."""
    if task.public is None:
        return None, 1.0 / task.slicing.count
    shares = task.public.shares
    h = min(range(len(shares)), key=shares.__getitem__)
    # Where the sample has none, as if it had one: nobody knows how few there are.
    return task.slicing.labels[h], max(shares[h], 1.0 / task.public.records)


def _stage(task: Task, stage: Stage, records: int) -> dict[str, Any]:
    sd = stage.sums.sd
    share = rarest(task)[1]
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
        "records_for_noise": needed,
    }


def _bytes(task: Task, stage: Stage) -> int:
    if task.screens_by_votes and stage is all_stages(task)[0]:
        return stage.p * stage.slices // 8 + 100
    return report_bytes(stage)
