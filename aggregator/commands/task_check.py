"""`fsir-aggregator task check`: validates a task and says what it costs and gives."""

from __future__ import annotations

import argparse
import json
import math
from typing import Any

from aggregator.tasks.forecast import expected_error, report_bytes
from fsir.contract import load_task
from fsir.errors import FsirError
from fsir.privacy.accounting import minimum_sample_size
from fsir.privacy.claims import statement
from fsir.privacy.describe import describe
from fsir.privacy.plan import Stage, all_stages
from fsir.task.task import Task
from fsir.wire.plausible import allowed_sizes

PAGE = {
    "description": """\
Validate a task file and explain it: what leaves a device, how much noise there is, from how many \
records on it is
tolerable, what the budget buys, and how far off the subspace is expected to be with so many \
devices, if the response
explains the given share of the variance of each direction (0.05 is faint, 0.5 is plain to see).
"""
}
_TOLERATED = (0.1, 0.05, 0.02)  # noise of a slice mean, in standardised units


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The file, and what to expect of devices and response."""
    parser.add_argument("file", metavar="FILE")
    parser.add_argument(
        "--devices", default="10,100,1000", metavar="K,K,...", help="default: %(default)s"
    )
    parser.add_argument(
        "--signal", type=float, default=0.3, metavar="SHARE", help="default: %(default)s"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object, for programs")


def run(args: argparse.Namespace) -> int:
    """Load, explain, forecast."""
    if not 0.0 < args.signal < 1.0:
        raise FsirError(f"--signal {args.signal}: a share of variance, between 0 and 1")
    devices = _devices(args.devices)
    task = load_task(args.file)
    answer = _check(task, devices, args.signal)
    if args.json:
        print(json.dumps(answer))
    else:
        _explain(task, answer)
    return 0


def _devices(text: str) -> list[int]:
    try:
        devices = [int(part) for part in text.split(",")]
    except ValueError:
        devices = [0]
    if not devices or min(devices) < 1:
        raise FsirError(f"--devices {text!r}: give whole numbers of devices, for example 10,100")
    return devices


def _check(task: Task, devices: list[int], signal: float) -> dict[str, Any]:
    records, _ = allowed_sizes(task)
    # A deadline without a smallest number of records leaves open how many there will be.
    # The federation that is invented knows nothing in advance: it is none of a task with [public].
    counts = devices if records > 1 and task.public is None else []
    return {
        "task": task.name,
        "digest": task.digest.hex(),
        "proven": statement(task).proven,
        "records": records,
        "stages": [_stage(task, stage, records) for stage in all_stages(task)],
        "signal": signal,
        "expected_error": {k: expected_error(task, records, k, signal) for k in counts},
    }


def _stage(task: Task, stage: Stage, records: int) -> dict[str, Any]:
    sd = stage.sums.sd
    tolerated = _TOLERATED if sd > 0 else ()
    return {
        "stage": stage.name,
        "features": len(stage.features),
        "numbers": sum(stage.sizes),
        "bytes": _bytes(task, stage),
        "norm": stage.norm,
        "mu": stage.mu if math.isfinite(stage.mu) else None,
        "noise_of_a_sum": sd,
        "noise_of_a_mean": sd / records,
        "records_for_noise": {f"{noise:g}": minimum_sample_size(sd, noise) for noise in tolerated},
    }


def _bytes(task: Task, stage: Stage) -> int:
    if task.screens_by_votes and stage is all_stages(task)[0]:
        return stage.p * stage.slices // 8 + 100
    return report_bytes(stage)


def _explain(task: Task, answer: dict[str, Any]) -> None:
    print(describe(task))
    print("\nThe noise:")
    for stage in answer["stages"]:
        _explain_stage(stage, answer["records"])
    _explain_error(task, answer)
    if answer["proven"]:
        print("\nThe task is valid.")
    else:
        print("\nThe task is valid, but its protection is NOT PROVEN.")


def _explain_stage(stage: dict[str, Any], records: int) -> None:
    print(
        f"  {stage['stage']}: clip {stage['norm']:.4g}, sd {stage['noise_of_a_sum']:.4g} on a sum, "
        f"{stage['noise_of_a_mean']:.3g} on a slice mean of {records} records"
    )
    needed = ", ".join(
        f"{n} records for {noise}" for noise, n in stage["records_for_noise"].items()
    )
    print(f"    it would take {needed or 'no records: there is no noise'}")
    cost = "infinite, nothing is proven" if stage["mu"] is None else f"{stage['mu']:.4g}"
    print(f"    about {stage['bytes']} bytes on the air, mu = {cost}")


def _explain_error(task: Task, answer: dict[str, Any]) -> None:
    print(
        f"\nThe expected error, if the response explains {answer['signal']:.0%} of the variance "
        "of each direction"
    )
    worst = (2 * (task.dimension or 1)) ** 0.5
    print(
        f"(projection loss: 0 is exact, {worst:.3g} means that nothing was learned; "
        "one direction if `auto`):"
    )
    for devices, error in answer["expected_error"].items():
        print(f"  {devices:>7} devices: {error:.3f}")
    if task.public is not None:
        print("  unknown: the estimate starts from what the task says is public")
    elif not answer["expected_error"]:
        print(
            "  unknown: the task has a deadline and does not say how many records there will be "
            "at least (sigma_0)"
        )
