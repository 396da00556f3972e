"""Reports whose values are still packed: a receiver of many opens those of one layout together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from fsir.arrays import Flags
from fsir.errors import MessageError
from fsir.wire.fields import MessageFields, is_shape_and_bytes, read_message
from fsir.wire.messages import STAGES
from fsir.wire.packing.codec import Packed
from fsir.wire.packing.rice import LARGEST

_BLOCKS = 4
_PARTS = 5  # of packed blocks
_LARGEST_N = 2**25  # records; more than any task allows
_LARGEST_SIDE = 2**20  # of a table of votes


class SealedReport(NamedTuple):
    """A report with packed blocks, or with votes."""

    task: bytes
    device: str
    stage: str
    n: int
    packed: Packed | None
    votes: Flags | None
    round: int = 1


def decode_sealed(table: Mapping[str, Any]) -> SealedReport:
    """The report in an unpacked table, all of it checked except for the packed values."""
    return read_message(table, "report", read_sealed)


def read_sealed(fields: MessageFields) -> SealedReport:
    """The report in these fields."""
    task = fields.digest()
    device = fields.device()
    n = fields.whole("n", low=1, high=_LARGEST_N)
    stage = fields.as_choice("stage", fields.get("stage"), STAGES)
    round = fields.round()
    if fields.has("votes"):
        return SealedReport(task, device, stage, n, None, _votes(fields), round)
    return SealedReport(task, device, stage, n, _packed(fields), None, round)


def _packed(fields: MessageFields) -> Packed:
    value = fields.get("blocks")
    if type(value) is not list or len(value) != _PARTS:
        raise fields.wrong("blocks", value, "packed blocks")
    sizes, centres, k, unary, remainders = value
    if type(sizes) is not list or type(centres) is not list:
        raise fields.wrong("blocks", value, "packed blocks")
    sizes = _wholes(fields, sizes, 0, 2**31)
    centres = _wholes(fields, centres, -LARGEST, LARGEST)
    if len(sizes) != _BLOCKS or type(unary) is not bytes or type(remainders) is not bytes:
        raise fields.wrong("blocks", value, "four packed blocks")
    # By position, as above: names would cost intake a tenth of what it takes to read a report.
    return Packed(sizes, centres, fields.as_whole("blocks", k, 0, 64), unary, remainders)


def _wholes(fields: MessageFields, values: list[Any], low: int, high: int) -> tuple[int, ...]:
    # Four sizes and four centres in every report: looked at all together, this is what intake
    # spends least on.
    if set(map(type, values)) == {int} and low <= min(values) and max(values) <= high:
        return tuple(values)
    return tuple(fields.as_whole("blocks", value, low, high) for value in values)


def _votes(fields: MessageFields) -> Flags:
    value = fields.get("votes")
    if not is_shape_and_bytes(value):
        raise fields.wrong("votes", value, "packed votes")
    shape = tuple(fields.as_whole("votes", size, 1, _LARGEST_SIDE) for size in value[0])
    count = math.prod(shape)
    if len(shape) != 2 or len(value[1]) != (count + 7) // 8:
        raise MessageError(f"field 'votes': shape {shape} does not fit {len(value[1])} bytes")
    bits = np.unpackbits(np.frombuffer(value[1], np.uint8), count=count)
    return bits.astype(np.bool_).reshape(shape)
