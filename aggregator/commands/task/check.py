"""`fsir-aggregator task check`: validates a task and says what it costs and gives."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from aggregator.tasks.checked import checked, shares_in
from aggregator.tasks.mapped import directions
from aggregator.tasks.reports.deadlines import refuse_past
from fsir.contract import load_task
from fsir.errors import FsirError
from fsir.privacy.describe import describe
from fsir.tables.csv_table import CsvTable
from fsir.task.public_map import Public
from fsir.task.task import Task

PAGE = {
    "description": """\
Validate a task file and explain it: what leaves a device, how much noise there is, from how many \
records on it is
tolerable, what the budget buys, and how far off the subspace is expected to be with so many \
devices. A task with
[public] is tried on invented federations: classes lie where the public sample has them, shifted \
by as much as the
estimate holds possible. For other tasks the response explains the given share of the variance of \
each direction (0.05 is
faint, 0.5 is plain to see).
"""
}

_MOST_SLICES = 12  # listed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The file, and what to expect of devices and response."""
    parser.add_argument("file", metavar="FILE")
    parser.add_argument(
        "--devices", default="10,100,1000", metavar="K,K,...", help="default: %(default)s"
    )
    parser.add_argument(
        "--signal",
        type=float,
        default=0.3,
        metavar="SHARE",
        help="of variance, for tasks without [public] (default: %(default)s)",
    )
    parser.add_argument(
        "--sample",
        metavar="CSV",
        help="public data that tell how rare each slice is, for tasks without [public]",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object, for programs")


def run(args: argparse.Namespace) -> int:
    """Load, explain, forecast."""
    if not 0.0 < args.signal < 1.0:
        raise FsirError(f"--signal {args.signal}: a share of variance, between 0 and 1")
    devices = _devices(args.devices)
    task = load_task(args.file)
    refuse_past("report.deadline", task.report.deadline, time.time())
    shares = shares_in(task, CsvTable.read(Path(args.sample))) if args.sample else None
    answer = checked(task, devices, args.signal, shares)
    if args.json:
        print(json.dumps(answer))
    else:
        _explain(task, answer, known=task.public is not None or shares is not None)
    return 0


def _devices(text: str) -> list[int]:
    try:
        devices = [int(part) for part in text.split(",")]
    except ValueError:
        devices = [0]
    if not devices or min(devices) < 1:
        raise FsirError(f"--devices {text!r}: give whole numbers of devices, for example 10,100")
    return devices


def _explain(task: Task, answer: dict[str, Any], *, known: bool) -> None:
    print(describe(task))
    print("\nThe noise of one report:")
    for stage in answer["stages"]:
        _explain_stage(stage, answer, known=known)
    if task.public is None:
        _explain_error(task, answer)
    else:
        _explain_forecast(task, task.public, answer)
    for devices in answer["never_opened"]:
        print(f"  {devices:>7} devices: too few, nothing would ever be opened")
    if _is_open_ended(answer):
        print(
            "  unknown: the task has a deadline and does not say how many records there will be "
            "at least (sigma_0)"
        )
    if answer["proven"]:
        print("\nThe task is valid.")
    else:
        print("\nThe task is valid, but its protection is NOT PROVEN.")


def _is_open_ended(answer: dict[str, Any]) -> bool:
    """Whether nobody knows how many records there will be."""
    return int(answer["records"]) <= 1


def _explain_stage(stage: dict[str, Any], answer: dict[str, Any], *, known: bool) -> None:
    """The noise, for the rarest slice if it is known which one that is."""
    noise = stage["noise_by_slice"]
    about = f"a slice with 1/{len(noise)} of"
    if known:
        label = max(noise, key=noise.__getitem__)
        about = f"the rarest slice, {label!r}, {answer['rarest_share']:.1%} of"
    records = f"the {answer['records']} records"
    if _is_open_ended(answer):
        records = f"{answer['most_records']} records, the most of a report"
    print(
        f"  {stage['stage']}: clip {stage['norm']:.4g}, sd {stage['noise_of_a_sum']:.4g} on a sum, "
        f"{stage['noise_of_a_mean']:.3g} on the mean of {about} {records}"
    )
    opened = stage["noise_of_an_opened_sum"]
    if opened is not None:
        print(f"    what two aggregators open over one cohort has sd {opened:.4g} in all")
    if known:
        _explain_slices(noise)
    needed = ", ".join(
        f"{n} records for {noise}" for noise, n in stage["records_for_noise"].items()
    )
    print(f"    it would take {needed or 'no records: there is no noise'}")
    cost = "infinite, nothing is proven" if stage["mu"] is None else f"{stage['mu']:.4g}"
    print(f"    about {stage['bytes']} bytes on the air, mu = {cost}")


def _explain_slices(noise: dict[str, float]) -> None:
    """The noise of each slice mean, of many slices the noisiest."""
    falling = sorted(noise.items(), key=lambda entry: -entry[1])
    listed = ", ".join(f"{label} {sd:.3g}" for label, sd in falling[:_MOST_SLICES])
    more = f", and {len(falling) - _MOST_SLICES} less" if len(falling) > _MOST_SLICES else ""
    print(f"    on the mean of each slice: {listed}{more}")


def _explain_error(task: Task, answer: dict[str, Any]) -> None:
    print(
        f"\nThe expected error, if the response explains {answer['signal']:.0%} of the variance "
        "of each direction"
    )
    print(
        f"(projection loss: 0 is exact, {answer['random_loss']:.3g} is that of directions drawn by "
        "lot; one direction if `auto`):"
    )
    for devices, error in answer["expected_error"].items():
        print(f"  {devices:>7} devices: {error:.3f}")


def _explain_forecast(task: Task, public: Public, answer: dict[str, Any]) -> None:
    d = directions(task, public)
    print(
        "\nThe expected error in invented federations, with classes where the public sample has "
        "them, shifted by\nas much as other records of the same people may be, up to those of "
        "other people"
    )
    yardstick = f"{answer['random_loss']:.3g} is that of directions drawn by lot"
    print(
        f"(projection loss of {d} direction{'s'[: d > 1]} of {task.p} features: "
        f"0 is exact, {yardstick}):"
    )
    print(_forecast_line("no reports", answer["without_reports"]))
    for devices, found in answer["forecast"].items():
        print(_forecast_line(f"{devices} devices", found))


def _forecast_line(name: str, found: dict[str, Any]) -> str:
    line = f"  {name:>15}: {found['loss']:.3f}"
    if found["expected_accuracy"] is None:
        return line
    return f"{line}, the classifier right in {found['expected_accuracy']:.0%}"
