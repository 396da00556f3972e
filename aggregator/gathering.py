"""From the store to what an estimate starts from: the cached sums or, where the task asks for it, trimmed ones.

Trimming needs every report by itself, so the stored bytes are opened again; intake and totals know nothing about it. Of
a wide report so many coordinates are gathered at a time that memory stays bounded, each time in one more pass over
the reports.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from aggregator.federation import Federation, Layout
from aggregator.store.base import Store, StoreError
from fsir.estimate.totals import Totals
from fsir.estimate.trimming import trimmed_sum, trimmed_totals
from fsir.privacy.plan import FINAL
from fsir.task.task import TRIMMED
from fsir.wire import codec
from fsir.wire.sealed import decode_sealed
from fsir.wire.unpack import unpack

Integers = NDArray[np.int64]
BYTES = 256 * 2**20  # of gathered values
_AT_ONCE = 2**15  # integers opened at a time
_SORTED = 64  # coordinates sorted at a time
_KINDS = (
    np.int16,
    np.int32,
    np.int64,
)  # values are of the size of their noise: nearly always the first will do


def gather(store: Store, federation: Federation, stage: str = FINAL) -> Totals:
    """What the reports of a stage amount to; call it where the store stands still: a transaction or a snapshot."""
    row = store.totals(federation.key, stage)
    if federation.task.aggregation != TRIMMED or row.devices == 0:
        return federation.totals(row, stage)
    layout = federation.layouts[stage]
    for kind in _KINDS:
        sums = _trimmed(store, federation, layout, row.devices, np.dtype(kind))
        if sums is not None:
            break
    assert sums is not None  # every value fits into 64 bits
    return trimmed_totals(layout.stage, sums, row.devices, row.records)


def _trimmed(
    store: Store,
    federation: Federation,
    layout: Layout,
    devices: int,
    kind: np.dtype[np.signedinteger],
) -> Integers | None:
    """The trimmed sums of all coordinates; None if a value does not fit into this kind of integer."""
    columns = max(1, BYTES // (devices * kind.itemsize))
    most, parts = np.iinfo(kind).max, []
    for start in range(0, layout.width, columns):
        block = np.empty((min(columns, layout.width - start), devices), kind)
        filled = 0
        for rows in _rows(store, federation, layout):
            wanted = rows[:, start : start + columns]
            if max(int(wanted.max()), -int(wanted.min())) > most:
                return None
            if filled + len(rows) <= devices:
                block[:, filled : filled + len(rows)] = wanted.T
            filled += len(rows)
        if filled != devices:
            raise StoreError(
                f"{filled} stored reports where {devices} are counted: see `status --recount`"
            )
        parts += [trimmed_sum(block[i : i + _SORTED]) for i in range(0, len(block), _SORTED)]
    return np.concatenate(parts)


def _rows(store: Store, federation: Federation, layout: Layout) -> Iterator[Integers]:
    """The integers of all stored reports of a stage, a few reports at a time."""
    size, batch = max(1, _AT_ONCE // layout.width), list[codec.Packed]()
    for row in store.reports(federation.key, layout.name):
        if row.raw is None:
            continue  # withdrawn
        packed = decode_sealed(unpack(row.raw, "report")).packed
        assert packed is not None  # votes are not trimmed
        batch.append(packed)
        if len(batch) == size:
            yield codec.unpack_many(batch, layout.sizes)[0]
            batch = []
    if batch:
        yield codec.unpack_many(batch, layout.sizes)[0]
