"""Reading a task: what stands between a file, a message or a table and a `Task` that a device may act upon.

Field by field the table is checked by `fsir.task.checks`. Here is checked what follows from the task as a whole: that
its noise can be drawn, its reports be held and its records be kept. A fault is found now, not when a device has
learned its last record.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fsir.errors import TaskError
from fsir.limits import KEPT_RECORDS_BYTES, MAX_RECORDS, MAX_VALUES, TASK_BYTES
from fsir.privacy.plan import all_stages, minimum_size, report_size
from fsir.task.checks import read_task
from fsir.task.task import Task
from fsir.wire.decode import unpack


def load_task(path: str | Path) -> Task:
    """The task in a TOML file."""
    try:
        with open(path, "rb") as file:
            table = tomllib.load(file)
    except FileNotFoundError:
        raise TaskError(
            "task file", str(path), "does not exist; give the path of a TOML file"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TaskError("task file", str(path), f"is not valid TOML: {error}") from None
    return task_from_table(table)


def decode_task(raw: bytes) -> Task:
    """The task in canonical bytes, as they come from the broker."""
    task = task_from_table(unpack(raw))
    if task.encode() != raw:
        raise TaskError("task", raw, "is not in canonical form; publish the bytes of Task.encode()")
    return task


def task_from_table(table: Mapping[str, Any]) -> Task:
    """The task in plain tables; the first fault found is raised as a `TaskError`."""
    task = read_task(table)
    _check_plan(task)
    _check_kept_records(task)
    return task


def _check_plan(task: Task) -> None:
    """What follows from a task must be possible too."""
    try:
        stages = all_stages(task)
    except (ArithmeticError, ValueError):  # the noise is beyond what a number can hold
        raise TaskError(
            "privacy.epsilon", task.privacy.epsilon, "the noise would drown any sum; raise it"
        ) from None
    if (size := len(task.encode())) > TASK_BYTES:
        remedy = f"the task would take {size} bytes, and devices read at most {TASK_BYTES}; name fewer, or shorter"
        raise TaskError("features.names", f"{task.p} names", remedy)
    for stage in stages:
        values = sum(block.size for block in stage.blocks)
        if values > MAX_VALUES:
            remedy = f"the {stage.name} report would hold {values} numbers, at most {MAX_VALUES} are possible; "
            raise TaskError(
                "features.names", f"{task.p} names", remedy + "name fewer, or screen first"
            )
        if task.clip.truncate > 256 * stage.norm:
            remedy = f"is more than 256 times the clip {stage.norm:g} of the {stage.name} report; lower it to that"
            raise TaskError("clip.truncate", task.clip.truncate, remedy)
        if max(block.step for block in stage.blocks) > 2**53:
            raise TaskError(
                "privacy.epsilon", task.privacy.epsilon, "the noise would drown any sum; raise it"
            )
    if report_size(task) > MAX_RECORDS:
        remedy = f"would need {report_size(task)} records, at most {MAX_RECORDS} are possible; tolerate more noise"
        raise TaskError("report.sigma_0", task.report.sigma_0, remedy)
    if task.report.deadline is not None and minimum_size(task) > report_size(task):
        remedy = f"the tolerated noise sigma_0 takes {minimum_size(task)} records at least; raise it, or sigma_0"
        raise TaskError("report.records", task.report.records, remedy)
    limit = None if task.screening is None else task.screening.limit
    if limit is not None and task.dimension is not None and task.dimension > limit:
        raise TaskError(
            "dimension", task.dimension, f"the final report has at most {limit} features; lower it"
        )


def _check_kept_records(task: Task) -> None:
    """Two stages on the same records mean that the device keeps them in between: that must be bounded."""
    if task.screening is None or task.screening.records == "fresh":
        return
    needed = report_size(task) * task.p * 2
    if needed > KEPT_RECORDS_BYTES:
        raise TaskError(
            "screening.records",
            "same",
            f"a device would have to keep {needed / 2**20:.0f} MiB of records; use 'fresh'",
        )
