"""From the store to what an estimate starts from: cached sums, or trimmed or opened ones.

Trimming needs every report by itself, so the stored bytes are opened again; intake and totals know
nothing about it. Of a wide report so many coordinates are gathered at a time that memory stays
bounded, each time in one more pass over the reports, of which no more than these are opened.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

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
from fsir.wire.packing.codec import Packed, unpack_known
from fsir.wire.packing.part import WHOLE_BYTES, part, part_sizes
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
    parts = []
    for start, stop in _pieces(layout.width, MOST_BYTES // (devices * kind.itemsize)):
        block = np.empty((devices, stop - start), kind)
        _fill(block, _rows(store, federation, layout, start, stop))
        parts += [
            trimmed_sum(np.ascontiguousarray(block[:, i : i + _SORTED].T))
            for i in range(0, block.shape[1], _SORTED)
        ]
    return np.concatenate(parts)


def _pieces(width: int, most: int) -> Iterator[tuple[int, int]]:
    """As few pieces of at most so many coordinates as there can be, of about the same length.

    All begin where packed vectors can be cut, and have as many coordinates as that takes.
    """
    units = -(-width // WHOLE_BYTES)
    pieces = -(-units // max(1, most // WHOLE_BYTES))
    for piece in range(pieces):
        start = units * piece // pieces * WHOLE_BYTES
        yield start, min(width, units * (piece + 1) // pieces * WHOLE_BYTES)


def _fill(block: np.ndarray, reports: Iterator[Integers]) -> None:
    """Some coordinates of all reports: a row for each, which is written at once.

    To write a column for each would touch the memory of all of them for every single report.
    """
    devices = len(block)
    most = np.iinfo(block.dtype).max
    filled = 0
    for rows in reports:
        if max(int(rows.max()), -int(rows.min())) > most:
            raise _TooNarrowError
        if filled + len(rows) <= devices:
            block[filled : filled + len(rows)] = rows
        filled += len(rows)
    if filled != devices:
        raise StoreError(
            f"{filled} stored reports where {devices} are counted: see `status --recount`"
        )


def _rows(
    store: Store, federation: Federation, layout: Layout, start: int, stop: int
) -> Iterator[Integers]:
    """Some integers of all stored reports of a stage, a few reports at a time."""
    sizes = part_sizes(layout.sizes, start, stop)
    parts = (part(packed, start, stop) for packed in _packed(store, federation, layout))
    while batch := list(islice(parts, max(1, _AT_ONCE // (stop - start)))):
        yield unpack_known(batch, sizes)


def _packed(store: Store, federation: Federation, layout: Layout) -> Iterator[Packed]:
    for row in store.reports(federation.key, layout.name):
        if row.raw is None:
            continue  # withdrawn
        packed = decode_sealed(unpack(row.raw, "report")).packed
        if packed is not None:  # votes are not trimmed
            yield packed
