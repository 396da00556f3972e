"""What a person should know about these streams before a figure is believed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fsir.arrays import Integers
from fsir.privacy.plan import first_stage
from fsir.task.task import Task
from sim_devices.datasets.population import DeviceStream
from sim_devices.own.cells import Cell, shortened
from sim_devices.own.setup import Own

_DROWNED = 1.0  # noise of a class mean, in units of the scatter of single records
_RARE = 0.02  # of all records
_SMALL = 0.5  # of the records of a usual class
_SURELY = 3.0  # records of a class to be expected: none at all is no chance then
_MISSED_BY = 0.25  # of the devices that have a class
_FEW_PEOPLE = 5
_UNSURE = 0.01  # a standard error of one point


def about_streams(own: Own, task: Task, cell: Cell, tried: Sequence[int]) -> Iterator[str]:
    """All there is to say about those who take part; `tried` are numbers of first records."""
    firsts = [shortened(stream, cell.records) for stream in own.devices]
    yield from _too_few(task, cell, firsts)
    yield from _rare(task, firsts)
    yield from _in_order(task, own, tried)
    yield from _unequal(firsts, cell.records)


def _noise(task: Task, devices: int, records: float) -> float:
    """Of the mean of so many records, in units of the scatter of single ones within a slice."""
    return float(first_stage(task).sums.sd * devices**0.5 / records)


def _counts(task: Task, devices: Sequence[DeviceStream]) -> Integers:
    """Records of each slice, devices x slices."""
    slicing = task.slicing
    rows = [np.bincount(slicing.slices_of(s.y), minlength=slicing.count) for s in devices]
    return np.stack(rows)


def _too_few(task: Task, cell: Cell, devices: Sequence[DeviceStream]) -> Iterator[str]:
    H = task.slicing.count
    mean = float(np.mean([len(stream) for stream in devices]))
    noise = _noise(task, len(devices), len(devices) * mean / H)
    if noise <= _DROWNED:
        return
    yield (
        f"too few rows: with {len(devices)} devices of {mean:.0f} records, the noise of epsilon "
        f"{cell.epsilon:g} moves the mean of a {_slice(task)} by {noise:.1f} times what single "
        f"records scatter; about {np.ceil(mean * noise):.0f} records a device, or "
        f"{np.ceil(len(devices) * noise**2):.0f} such devices, would bring that down to 1"
    )


def _rare(task: Task, devices: Sequence[DeviceStream]) -> Iterator[str]:
    """Classes of which there is much less than of the others."""
    if not task.response.classes:
        return
    counts = _counts(task, devices)
    total = counts.sum(axis=0)
    usual = _noise(task, len(devices), total.mean())
    for h, label in enumerate(task.slicing.labels):
        noise = _noise(task, len(devices), max(int(total[h]), 1))
        drowned = noise > _DROWNED >= usual and total[h] < _SMALL * total.mean()
        if total[h] >= _RARE * total.sum() and not drowned:
            continue
        yield (
            f"class {label!r} is rare: {total[h]} of {total.sum()} records, on "
            f"{int((counts[:, h] > 0).sum())} of {len(devices)} devices; noise moves its mean by "
            f"{noise:.1f} times what single records scatter, so do not rely on what is said of "
            "it; gather more of it, or leave its rows out"
        )


def _in_order(task: Task, own: Own, tried: Sequence[int]) -> Iterator[str]:
    """Streams whose first records lack a class that comes later."""
    if not task.response.classes:
        return
    devices = own.devices
    whole = _counts(task, devices)
    lengths = np.array([len(stream) for stream in devices])
    said = []
    needed = 0
    for n in sorted(tried, reverse=True):
        first = _counts(task, [shortened(stream, n) for stream in devices])
        sure = whole * np.minimum(n / lengths, 1.0)[:, None] >= _SURELY
        missed = ((first == 0) & sure).sum(axis=0)
        h = int(missed.argmax())
        if missed[h] < max(1.0, _MISSED_BY * float((whole[:, h] > 0).sum())):
            continue
        label = task.slicing.labels[h]
        has = int((first[:, h] > 0).sum())
        said.append(f"{has} of {len(devices)} devices have any {label!r} among their first {n}")
        needed = max(needed, _within(devices, label))
    if said:
        yield (
            f"records come in the order of their classes: {'; '.join(said)} records; a device "
            f"cannot shuffle what it has not met yet, so raise {own.style.option('records')} (all "
            f"have met it after {needed}), or record classes in turn"
        )


def _within(devices: Sequence[DeviceStream], label: str) -> int:
    """After how many records every device that has a class has met it."""
    return max(int((stream.y == label).argmax()) + 1 for stream in devices)


def _unequal(devices: Sequence[DeviceStream], records: int) -> Iterator[str]:
    lengths = sorted(len(stream) for stream in devices)
    if lengths[0] == lengths[-1]:
        return
    yield (
        f"devices have {lengths[0]} to {lengths[-1]} records (median {np.median(lengths):g}), "
        f"and all report after {records}: shorter streams are filled up with empty records, which "
        "add nothing but the same noise"
    )


def about_people(own: Own, error: float | None, of_gain: float | None) -> Iterator[str]:
    """How sure a figure is that comes from these unseen people."""
    people = len(own.unseen)
    more = f"ask for more by {own.style.option('unseen')}"
    if error is None:
        yield (f"one unseen person: how well others would be served, nobody can say; {more}")
    elif people < _FEW_PEOPLE or error > _UNSURE:
        gain = "" if of_gain is None else f", that of what is added {100 * of_gain:.1f}"
        yield (
            f"few unseen people: {people} of them leave a standard error of {100 * error:.1f} "
            f"points (over people){gain}; {more}"
        )


def _slice(task: Task) -> str:
    return "class" if task.response.classes else "slice"
