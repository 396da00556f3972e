"""What a search is about: a task with data, or the paper's ordinary data."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np

from fsir.contract import task_from_table
from fsir.privacy import plan
from fsir.task.slicing import UNKNOWN
from fsir.task.task import Task
from sim_devices.audit.bounds.laws import Law
from sim_devices.audit.bounds.search import Setting
from sim_devices.audit.claim import Claim
from sim_devices.audit.mechanisms import (
    MECHANISMS,
    exact_sums,
    law_of_fresh,
    law_of_stages,
)
from sim_devices.audit.pairs import AuditError, Records
from sim_devices.audit.shipped.canary import Streams, labels_of, length
from sim_devices.audit.shipped.reference import Stream
from sim_devices.datasets import models


def ordinary(n: int, p: int, seed: int, R: float, slices: int = 8) -> tuple[Records, Setting]:
    """Records of the paper's model III, sliced at public quantiles:
    nothing about them is contrived."""
    X, y = models.simulate("III", n, p, "low", np.random.default_rng(seed))
    cuts = np.array(models.cut_points("III", p, "low", slices))
    setting = Setting(slices=slices, truncate=R, norm=R * p**0.5)
    return Records(X, np.searchsorted(cuts, y, side="left")), setting


def law_of_claim(
    mechanism: str, records: Records, setting: Setting, epsilon: float, delta: float
) -> Callable[[Records], Law]:
    """The law of a mechanism that makes this claim about such records."""
    if mechanism not in MECHANISMS:
        raise AuditError(f"mechanism {mechanism!r}: choose one of {', '.join(MECHANISMS)}")
    n, p = records.X.shape
    claim = Claim(
        epsilon=epsilon,
        delta=delta,
        n=n,
        p=p,
        slices=setting.slices,
        truncate=setting.truncate,
        norm=setting.norm,
    )
    return lambda data: MECHANISMS[mechanism](data, claim)


def law_of_task(task: Task, n: int) -> Callable[[Records], Law]:
    """The law of everything that a device publishes for a task, on standardised records.

    With fresh records the first half of them is for the first report.
    """
    plain = _without_standardising(task)
    if task.privacy.mechanism == "none":
        return lambda data: exact_sums(plain, data)
    if task.privacy.mechanism == "vgm":
        claim = Claim(
            epsilon=task.privacy.epsilon / 2.0,
            delta=task.privacy.delta / 2.0,
            n=n,
            p=task.p,
            slices=task.slicing.count,
            truncate=task.clip.truncate,
            norm=task.clip.norm,
        )
        return lambda data: MECHANISMS["vgm"](data, claim)
    stages = list(plan.all_stages(task))
    if task.asks_for_fresh_records:
        return lambda data: law_of_fresh(plain, stages, data)
    return lambda data: law_of_stages(plain, stages, data)


def _without_standardising(task: Task) -> Task:
    """The same task for records that are standardised already,
    with slices named by their number."""
    table = task.table()
    table["features"] = {"names": list(task.features.names)}
    table["response"] = {"classes": [str(h) for h in range(task.slicing.count)]}
    if "screening" in table and table["screening"]["code"] == "circle":
        # The stages carry the code; this task only feeds them.
        table["screening"]["code"] = "slices"
    return task_from_table(table)


def streams_of(task: Task, first: Records, second: Records) -> Streams:
    """Two standardised data sets as the sensors of a device would deliver them."""
    return Streams(_stream(task, first), _stream(task, second))


def _stream(task: Task, records: Records) -> Stream:
    labels = labels_of(task)
    X = np.array(task.features.centre) + records.X * np.array(task.features.scale)
    return X, [labels[h] for h in records.slices]


def read_csv(task: Task, path: Path) -> Records:
    """Records of a CSV file with a column for each feature of the task and one for its response."""
    where = f"data file {str(path)!r}"
    rows = _rows(task, path, where)
    try:
        X = np.array([[float(row[name]) for name in task.features.names] for row in rows])
    except ValueError as error:
        raise AuditError(f"{where}: {error}; every feature must be a number") from None
    slices = np.array([task.slicing.slice_of(row[task.response.name]) for row in rows], np.int64)
    good = np.isfinite(X).all(axis=1) & (slices != UNKNOWN)
    n = min(int(good.sum()), length(task))
    if n < max(2, task.privacy.unit_records):
        raise AuditError(f"{where}: only {n} records that the task accepts; give more")
    standard = (X[good][:n] - np.array(task.features.centre)) / np.array(task.features.scale)
    return Records(standard, slices[good][:n])


def _rows(task: Task, path: Path, where: str) -> list[dict[str, str]]:
    try:
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
    except FileNotFoundError:
        raise AuditError(f"{where}: does not exist; give the path of a CSV file") from None
    wanted = [*task.features.names, task.response.name]
    if not rows:
        what = "holds no records"
    elif missing := [name for name in wanted if name not in rows[0]]:
        what = f"lacks the columns {missing[:3]}"
    else:
        return rows
    raise AuditError(f"{where}: {what}; the task needs {', '.join(wanted[:4])} ...")
