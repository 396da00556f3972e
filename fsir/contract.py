"""Reading a task: what stands between a file, a message or a table and a `Task` to act upon.

Field by field the table is checked by `fsir.task.checks`. Here is checked what follows from the
task as a whole: that its noise can be drawn, its reports be held and its records be kept. A fault
is found now, not when a device has learned its last record.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Any

from fsir.errors import TaskError
from fsir.limits import KEPT_RECORDS_BYTES, LIMITS, MAX_RECORDS, MAX_VALUES, TASK_BYTES
from fsir.privacy.claims import epsilon_if_both_collude
from fsir.privacy.plan import Stage, all_stages, minimum_size, report_size
from fsir.task.checks.whole import read_task
from fsir.task.secure import Secure
from fsir.task.task import OLDEST_VERSION, Task
from fsir.wire.unpack import unpack

_BYTES_PER_VALUE = 2  # of a kept record
_FRAME_BYTES = 1024  # of a report in shares: names, digest, seed
_WIDEST_TRUNCATION = 256  # times the clip on the norm
_LARGEST_STEP = 2**53  # of published values; beyond this no sum is exact


def load_task(path: str | Path) -> Task:
    """The task in a TOML file.

    Parameters
    ----------
    path
        Of the file; docs/task.md says what may stand in it.

    Returns
    -------
    Task
        The task, with every check passed and every default filled in.

    Raises
    ------
    TaskError
        For the first fault found: the field, the value found there, and the remedy.

    Examples
    --------
    >>> import tempfile
    >>> import fsir
    >>> with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
    ...     print('name = "example" # and nothing else', file=file, flush=True)
    ...     fsir.load_task(file.name)
    Traceback (most recent call last):
    fsir.errors.TaskError: features.names = None: is missing; add it
    """
    import tomllib  # most runs read no such file

    try:
        with open(path, "rb") as file:
            table = tomllib.load(file)
    except FileNotFoundError:
        remedy = "does not exist; give the path of a TOML file"
        raise TaskError("task file", str(path), remedy) from None
    except OSError as error:
        remedy = f"{error.strerror}; give the path of a TOML file that can be read"
        raise TaskError("task file", str(path), remedy) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TaskError("task file", str(path), f"is not valid TOML: {error}") from None
    return task_from_table(table)


def decode_task(raw: bytes) -> Task:
    """The task in canonical bytes, as they come from the broker.

    Parameters
    ----------
    raw
        What `Task.encode` gave; anybody may have sent it.

    Returns
    -------
    Task
        The task, with every check passed.

    Raises
    ------
    MessageError
        If these are not the bytes of a table.
    TaskError
        If the table is not a task that can be used, or not in canonical form.

    Examples
    --------
    >>> import fsir
    >>> task = fsir.task_from_table({
    ...     "name": "example",
    ...     "features": {"names": ["a", "b"]},
    ...     "response": {"classes": ["no", "yes"]},
    ...     "clip": {"truncate": 2, "norm": 2.5},
    ...     "privacy": {"epsilon": 1},
    ...     "report": {"records": 100},
    ... })
    >>> fsir.decode_task(task.encode()) == task
    True
    """
    # Bytes that do not say their version are of the first one, whoever wrote them.
    task = task_from_table({"version": OLDEST_VERSION, **unpack(raw)})
    if task.encode() != raw:
        raise TaskError("task", raw, "is not in canonical form; publish the bytes of Task.encode()")
    return task


def task_from_table(table: Mapping[str, Any]) -> Task:
    """The task in plain tables: what a TOML file holds.

    Parameters
    ----------
    table
        Values and sections by name; docs/task.md lists them.

    Returns
    -------
    Task
        The task, with every check passed and every default filled in.

    Raises
    ------
    TaskError
        For the first fault found: the field, the value found there, and the remedy.

    Examples
    --------
    >>> import fsir
    >>> task = fsir.task_from_table({
    ...     "name": "example",
    ...     "features": {"names": ["a", "b"]},
    ...     "response": {"classes": ["no", "yes"]},
    ...     "clip": {"truncate": 2, "norm": 2.5},
    ...     "privacy": {"epsilon": 1},
    ...     "report": {"records": 100},
    ... })
    >>> task.p, task.privacy.delta, task.privacy.mechanism
    (2, 1e-06, 'gaussian')
    >>> fsir.task_from_table({**task.table(), "privacy": {"epsilon": -1}})
    Traceback (most recent call last):
    fsir.errors.TaskError: privacy.epsilon = -1: must be above 0 and at most 1000
    """
    task = read_task(table)
    stages = _stages(task)
    _check_bytes(task)
    for stage in stages:
        _check_stage(task, stage)
    _check_records(task)
    if task.secure is not None:
        _check_secure(task, task.secure, stages)
    _check_dimension(task)
    _check_kept_records(task)
    return task


def _stages(task: Task) -> tuple[Stage, ...]:
    try:
        return all_stages(task)
    except (ArithmeticError, ValueError):  # the noise is beyond what a number can hold
        raise _drowned(task) from None


def _drowned(task: Task) -> TaskError:
    remedy = "the noise would drown any sum; raise it"
    return TaskError("privacy.epsilon", task.privacy.epsilon, remedy)


def _check_bytes(task: Task) -> None:
    if (size := len(task.encode())) <= TASK_BYTES:
        return
    mapped = None if task.public is None else task.public.map
    if mapped is not None and size - len(mapped) <= TASK_BYTES:
        remedy = (
            f"the task would take {size} bytes with it, and devices read at most {TASK_BYTES}; "
            "map to fewer coordinates, or from fewer features"
        )
        raise TaskError("public.map", f"{len(mapped)} bytes", remedy)
    remedy = (
        f"the task would take {size} bytes, and devices read at most {TASK_BYTES}; "
        "name fewer, or shorter"
    )
    raise TaskError("features.names", f"{task.p} names", remedy)


def _check_stage(task: Task, stage: Stage) -> None:
    if (values := sum(stage.sizes)) > MAX_VALUES:
        remedy = (
            f"the {stage.name} report would hold {values} numbers, "
            f"at most {MAX_VALUES} are possible; name fewer, or screen first"
        )
        raise TaskError("features.names", f"{task.p} names", remedy)
    if stage.truncate > _WIDEST_TRUNCATION * stage.norm:
        remedy = (
            f"is more than {_WIDEST_TRUNCATION} times the clip {stage.norm:g} "
            f"of the {stage.name} report; lower it to that"
        )
        raise TaskError("clip.truncate", stage.truncate, remedy)
    if max(block.step for block in stage.blocks) > _LARGEST_STEP:
        raise _drowned(task)


def _check_records(task: Task) -> None:
    size = report_size(task)
    if size > MAX_RECORDS:
        remedy = (
            f"would need {size} records, at most {MAX_RECORDS} are possible; tolerate more noise"
        )
        raise TaskError("report.sigma_0", task.report.sigma_0, remedy)
    if task.report.deadline is not None and (fewest := minimum_size(task)) > size:
        remedy = (
            f"the tolerated noise sigma_0 takes {fewest} records at least; raise it, or sigma_0"
        )
        raise TaskError("report.records", task.report.records, remedy)


def _check_secure(task: Task, secure: Secure, stages: tuple[Stage, ...]) -> None:
    """Sums must not wrap, reports be sendable, and the noise of one device be worth a promise."""
    from fsir.secure.ring import ring_of

    for stage in stages:
        length = ring_of(task, stage).length
        if length > LIMITS["shared"] - _FRAME_BYTES:
            remedy = (
                f"the {stage.name} report would take {length} bytes in shares, at most "
                f"{LIMITS['shared']} are possible; name fewer, or screen first"
            )
            raise TaskError("features.names", f"{task.p} names", remedy)
    private = task.privacy.mechanism == "gaussian"
    if private and epsilon_if_both_collude(task) == inf:
        remedy = (
            "so many share the noise that a device has too little of its own: nothing could be "
            "promised in case both aggregators collude; lower it"
        )
        raise TaskError("secure.cohort", secure.cohort, remedy)


def _check_dimension(task: Task) -> None:
    if task.screening is None or task.dimension is None:
        return
    if task.dimension > (limit := task.screening.limit):
        remedy = f"the final report has at most {limit} features; lower it"
        raise TaskError("dimension", task.dimension, remedy)


def _check_kept_records(task: Task) -> None:
    """Two stages on the same records mean that the device keeps them in between: bound that."""
    if task.screening is None or task.asks_for_fresh_records:
        return
    needed = report_size(task) * task.p * _BYTES_PER_VALUE
    if needed > KEPT_RECORDS_BYTES:
        remedy = f"a device would have to keep {needed / 2**20:.0f} MiB of records; use 'fresh'"
        raise TaskError("screening.records", "same", remedy)
