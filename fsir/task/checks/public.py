"""The checks of a task's section `[public]`: map and centres must fit the rest of the task."""

from __future__ import annotations

import base64
import binascii
import math

import numpy as np

from fsir.errors import TaskError
from fsir.fields import Table
from fsir.limits import MAX_RECORDS
from fsir.task.exact_map import ExactMap
from fsir.task.nearest import REACH_CLIPS
from fsir.task.public_map import BYTES_PER_NUMBER, Public, unpack
from fsir.task.task import OLDEST_VERSION, Task

MAX_COORDINATES = 1024
_LARGEST = 1e6  # entry of the map, or of a centre
_SUM_OF_SHARES = 1e-3  # they may be rounded
_UNLIKE = 256.0  # times: check and clip share one grid of 2^14 steps
_MECHANISMS = ("gaussian", "none")


def read_public(part: Table, p: int, slices: int, truncate: float) -> Public:
    """The section, for a task of p features and so many slices that truncates at `truncate`."""
    q = part.whole("coordinates", low=1, high=min(p, MAX_COORDINATES))
    public = Public(
        records=part.whole("records", low=1, high=MAX_RECORDS),
        coordinates=q,
        centres=_numbers(part, "centres", slices, q),
        shares=_shares(part, slices),
        map=_numbers(part, "map", p, q) if part.has("map") else None,
        accuracy=part.optional_number("accuracy", least=0, to=1),
        check=part.optional_number("check", least=1e-6, to=1e6),
    )
    part.done()
    if public.map is None and q != p:
        remedy = f"without a map a record keeps its {p} features; give a map, or {p}"
        raise part.error("coordinates", q, remedy)
    ExactMap(public, p, truncate)  # raises where it has no whole numbers
    return public


def check_around(task: Task, public: Public) -> None:
    """Refuse what a task may not say together with `[public]`."""
    if task.version == OLDEST_VERSION:
        raise TaskError("version", task.version, "a task with [public] has 2; leave it out")
    if task.screening is not None:
        remedy = "cannot be combined with [public], which has chosen already; leave one out"
        raise TaskError("screening", task.screening.method, remedy)
    if task.privacy.mechanism not in _MECHANISMS:
        remedy = f"cannot be combined with [public]; use one of {', '.join(_MECHANISMS)}"
        raise TaskError("privacy.mechanism", task.privacy.mechanism, remedy)
    if public.check is not None:
        _check_check(task, public, public.check)


def _check_check(task: Task, public: Public, check: float) -> None:
    """Refuse a check that means nothing in this task."""
    C = task.clip.norm
    if not task.response.classes:
        remedy = "asks whether a class is named rightly; leave it out, or give response.classes"
        raise TaskError("public.check", check, remedy)
    if not C / _UNLIKE <= check <= C * _UNLIKE:
        remedy = (
            f"would be lost beside clip.norm = {C:g}, or that beside it; choose it from "
            f"{C / _UNLIKE:.6g} to {C * _UNLIKE:.6g}"
        )
        raise TaskError("public.check", check, remedy)
    centres = public.centre_rows()
    apart = float(np.ptp(centres, axis=0).max())
    if apart > 2.0 * REACH_CLIPS * C:
        remedy = (
            f"public.centres lie {apart:.6g} apart in a coordinate, more than {2 * REACH_CLIPS:g} "
            f"times clip.norm = {C:g}, beyond which no nearest one is found; leave it out, or "
            "raise clip.norm"
        )
        raise TaskError("public.check", check, remedy)


def _shares(part: Table, slices: int) -> tuple[float, ...]:
    shares = part.numbers("shares", (), slices)
    if min(shares) < 0.0 or abs(math.fsum(shares) - 1.0) > _SUM_OF_SHARES:
        raise part.error("shares", shares, "must be at least 0 each and add up to 1")
    return shares


def _numbers(part: Table, key: str, rows: int, columns: int) -> bytes:
    raw = _raw(part, key)
    size = rows * columns * BYTES_PER_NUMBER
    if len(raw) != size:
        remedy = f"must be {size} bytes: {rows} rows of {columns} numbers, float32 little endian"
        raise part.error(key, f"{len(raw)} bytes", remedy)
    values = unpack(raw, columns)
    wrong = np.argwhere(~(np.abs(values) <= _LARGEST))  # a NaN is not
    if len(wrong):
        j, k = wrong[0].tolist()
        remedy = f"in row {j}, column {k}: must lie between {-_LARGEST:g} and {_LARGEST:g}"
        raise part.error(key, float(values[j, k]), remedy)
    return raw


def _raw(part: Table, key: str) -> bytes:
    """Bytes as messages have them, or base64 as files do."""
    value = part.get(key)
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        raise part.wrong(key, value, "a text in base64")
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise part.wrong(key, value, "a text in base64") from None
