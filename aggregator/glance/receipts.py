"""The receipt for a report that was counted, where there is nothing else to say: nearly all are so.

Their bytes are put together from parts that are the same for every device of a federation; all
others are written field by field (`fsir.wire.messages`), and so would these be, to the last bit.
"""

from __future__ import annotations

from functools import lru_cache

import msgpack

from aggregator.glance.parts import field
from fsir.limits import ID_BYTES
from fsir.wire.messages import STATUSES, VERSION

_FIELDS = 0x85  # a map of five: version, kind, task, device and verdicts


@lru_cache(maxsize=64)
def _frame(task: bytes, by: str, stage: str, round: int, size: int) -> tuple[bytes, bytes, bytes]:
    """What is the same for all devices: before the name, before the id, and after it.

    `size` is that of the number of a device that has asked.
    """
    first = bytes((_FIELDS + bool(by) + bool(size),))
    start = field("v", VERSION) + field("kind", "receipt") + field("task", task) + field("device")
    said = (STATUSES[0], "") if round == 1 else (STATUSES[0], "", round)
    list_of_id = bytes((0x91 + len(said), 0xC4, ID_BYTES))
    verdict = field("verdicts") + b"\x81" + field(stage) + list_of_id
    number = field("instance") + bytes((0xC4, size)) if size else b""
    return first + start, verdict, b"".join(map(msgpack.packb, said)) + number


def counted(task: bytes, by: str, place: tuple[str, str, int], id: bytes, number: bytes) -> bytes:
    """The receipt that says that the report of this device, stage and round was counted."""
    device, stage, round = place
    start, verdict, rest = _frame(task, by, stage, round, len(number))
    last = field("by", by) if by else b""
    return b"".join((start, msgpack.packb(device), verdict, id, rest, number, last))
