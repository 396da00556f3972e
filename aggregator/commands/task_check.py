"""`fsir-aggregator task check`: validates a task and says what it costs and gives."""

from __future__ import annotations

import argparse
import json
import math
from typing import Any

from aggregator.forecast import expected_error, report_bytes
from fsir.contract import load_task
from fsir.errors import FsirError
from fsir.privacy.accounting import minimum_sample_size
from fsir.privacy.claims import statement
from fsir.privacy.describe import describe
from fsir.privacy.plan import Stage, all_stages
from fsir.task.task import Task
from fsir.wire.plausible import allowed_sizes

_TOLERATED = (0.1, 0.05, 0.02)  # noise of a slice mean, in standardised units


def check(args: argparse.Namespace) -> int:
    """Load, explain, forecast."""
    if not 0.0 < args.signal < 1.0:
        raise FsirError(f"--signal {args.signal}: a share of variance, between 0 and 1")
    devices = _devices(args.devices)
    task = load_task(args.file)
    low, _ = allowed_sizes(task)
    found: dict[str, Any] = {
        "task": task.name,
        "digest": task.digest.hex(),
        "proven": statement(task).proven,
        "records": low,
        "stages": [_stage(task, stage, low) for stage in all_stages(task)],
        "signal": args.signal,
        # A deadline without a smallest number of records leaves open how many there will be.
        "expected_error": {k: expected_error(task, low, k, args.signal) for k in devices}
        if low > 1
        else {},
    }
    if args.json:
        print(json.dumps(found))
    else:
        _explain(task, found)
    return 0


def _devices(text: str) -> list[int]:
    try:
        devices = [int(part) for part in text.split(",")]
    except ValueError:
        devices = [0]
    if not devices or min(devices) < 1:
        raise FsirError(f"--devices {text!r}: give whole numbers of devices, for example 10,100")
    return devices


def _stage(task: Task, stage: Stage, n: int) -> dict[str, Any]:
    by_votes = task.screens_by_votes and stage is all_stages(task)[0]
    sd = stage.sums.sd
    return {
        "stage": stage.name,
        "features": stage.p,
        "numbers": sum(stage.sizes),
        "bytes": stage.p * stage.slices // 8 + 100 if by_votes else report_bytes(stage),
        "norm": stage.norm,
        "mu": stage.mu if math.isfinite(stage.mu) else None,
        "noise_of_a_sum": sd,
        "noise_of_a_mean": sd / n,
        "records_for_noise": {f"{s:g}": minimum_sample_size(sd, s) for s in _TOLERATED}
        if sd > 0
        else {},
    }


def _explain(task: Task, found: dict[str, Any]) -> None:
    print(describe(task))
    print("\nThe noise:")
    for stage in found["stages"]:
        needed = ", ".join(f"{n} records for {s}" for s, n in stage["records_for_noise"].items())
        print(
            f"  {stage['stage']}: clip {stage['norm']:.4g}, sd {stage['noise_of_a_sum']:.4g} on a sum, "
            f"{stage['noise_of_a_mean']:.3g} on a slice mean of {found['records']} records"
        )
        print(f"    it would take {needed or 'no records: there is no noise'}")
        cost = "infinite, nothing is proven" if stage["mu"] is None else f"{stage['mu']:.4g}"
        print(f"    about {stage['bytes']} bytes on the air, mu = {cost}")
    print(
        f"\nThe expected error, if the response explains {found['signal']:.0%} of the variance of each direction"
    )
    worst = (2 * (task.dimension or 1)) ** 0.5
    print(
        f"(projection loss: 0 is exact, {worst:.3g} means that nothing was learned; one direction if `auto`):"
    )
    for devices, error in found["expected_error"].items():
        print(f"  {devices:>7} devices: {error:.3f}")
    if not found["expected_error"]:
        print(
            "  unknown: the task has a deadline and does not say how many records there will be at least (sigma_0)"
        )
    print(
        "\nThe task is valid."
        if found["proven"]
        else "\nThe task is valid, but its protection is NOT PROVEN."
    )
