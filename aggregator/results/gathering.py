"""From the store to what an estimate starts from: cached sums, or trimmed or opened ones.

Trimming needs every report by itself, so the stored bytes are opened again; intake and totals know
nothing about it. Of a wide report so many coordinates are gathered at a time that memory stays
bounded, each time in one more pass over the reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from aggregator.federation import Federation, Layout
from aggregator.results.opened import gather_opened
from aggregator.store.base import Store
from aggregator.store.errors import StoreError
from fsir.arrays import Integers
from fsir.estimate.totals import Totals
from fsir.estimate.trimming import trimmed_sum, trimmed_totals
from fsir.privacy.plan import FINAL
from fsir.task.task import SECURE, TRIMMED
from fsir.wire import codec
from fsir.wire.sealed import decode_sealed
from fsir.wire.unpack import unpack

MOST_BYTES = 256 * 2**20  # of gathered values
_AT_ONCE = 2**15  # integers opened at a time
_SORTED = 64  # coordinates sorted at a time
# Values are of the size of their noise: nearly always the first will do.
_NARROW = (np.int16, np.int32)


class _TooNarrowError(Exception):
    """A value does not fit into this kind of integer."""


def gather(store: Store, federation: Federation, stage: str = FINAL) -> Totals:
    """What the reports of a stage amount to.

    Call it where the store stands still: in a transaction or on a snapshot.
    """
    if federation.task.aggregation == SECURE:
        return gather_opened(store, federation, stage)
    row = store.totals(federation.key, stage)
    if federation.task.aggregation != TRIMMED or row.devices == 0:
        return federation.totals(row, stage)
    layout = federation.layouts[stage]
    sums = _narrowest(store, federation, layout, row.devices)
    return trimmed_totals(layout.stage, sums, row.devices, row.records)


def _narrowest(store: Store, federation: Federation, layout: Layout, devices: int) -> Integers:
    """The trimmed sums of all coordinates, gathered in as little memory as they fit into."""
    for kind in _NARROW:
        with suppress(_TooNarrowError):
            return _trimmed(store, federation, layout, devices, np.dtype(kind))
    return _trimmed(store, federation, layout, devices, np.dtype(np.int64))


def _trimmed(
    store: Store,
    federation: Federation,
    layout: Layout,
    devices: int,
    kind: np.dtype[np.signedinteger],
) -> Integers:
    """The trimmed sums of all coordinates."""
    columns = max(1, MOST_BYTES // (devices * kind.itemsize))
    parts = []
    for start in range(0, layout.width, columns):
        block = np.empty((devices, min(columns, layout.width - start)), kind)
        _fill(block, start, _rows(store, federation, layout))
        parts += [
            trimmed_sum(np.ascontiguousarray(block[:, i : i + _SORTED].T))
            for i in range(0, block.shape[1], _SORTED)
        ]
    return np.concatenate(parts)


def _fill(block: np.ndarray, start: int, reports: Iterator[Integers]) -> None:
    """Some coordinates, from `start` on, of all reports: a row for each, which is written at once.

    To write a column for each would touch the memory of all of them for every single report.
    """
    devices, coordinates = block.shape
    most = np.iinfo(block.dtype).max
    filled = 0
    for rows in reports:
        wanted = rows[:, start : start + coordinates]
        if max(int(wanted.max()), -int(wanted.min())) > most:
            raise _TooNarrowError
        if filled + len(rows) <= devices:
            block[filled : filled + len(rows)] = wanted
        filled += len(rows)
    if filled != devices:
        raise StoreError(
            f"{filled} stored reports where {devices} are counted: see `status --recount`"
        )


def _rows(store: Store, federation: Federation, layout: Layout) -> Iterator[Integers]:
    """The integers of all stored reports of a stage, a few reports at a time."""
    size = max(1, _AT_ONCE // layout.width)
    batch: list[codec.Packed] = []
    for packed in _packed(store, federation, layout):
        batch.append(packed)
        if len(batch) == size:
            yield codec.unpack_many(batch, layout.sizes)[0]
            batch = []
    if batch:
        yield codec.unpack_many(batch, layout.sizes)[0]


def _packed(store: Store, federation: Federation, layout: Layout) -> Iterator[codec.Packed]:
    for row in store.reports(federation.key, layout.name):
        if row.raw is None:
            continue  # withdrawn
        packed = decode_sealed(unpack(row.raw, "report")).packed
        if packed is not None:  # votes are not trimmed
            yield packed
