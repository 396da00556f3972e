"""A report in two sealed shares: what a device publishes where two aggregators open sums.

All of its lengths are fixed by the public layout of the stage and by the name of the device, so
that they tell nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import msgpack

from fsir.limits import ID_BYTES, LIMITS, MAX_RECORDS
from fsir.wire.fields import MessageFields, read_message
from fsir.wire.messages import VERSION
from fsir.wire.unpack import unpack

KIND = "shared"
OVERHEAD_BYTES = 48  # that sealing adds: a key of 32, and a tag of 16


class Shared(NamedTuple):
    """A report whose `leader` and `helper` are what each of them alone can open.

    Its `id` is drawn at random, once, before it is sealed: both shares are bound to it.
    """

    task: bytes
    device: str
    stage: str
    id: bytes
    n: int
    leader: bytes
    helper: bytes
    round: int = 1


def encode_shared(message: Shared) -> bytes:
    """The bytes of a report in shares."""
    fields = {
        key: value for key, value in message._asdict().items() if (key, value) != ("round", 1)
    }
    raw: bytes = msgpack.packb({"v": VERSION, "kind": KIND, **fields})
    return raw


def decode_shared(raw: bytes, limit: int | None = None) -> Shared:
    """The report in these bytes; `MessageError` for anything else."""
    return read_message(unpack(raw, KIND, limit), KIND, _shared)


def _shared(fields: MessageFields) -> Shared:
    return Shared(
        task=fields.digest(),
        device=fields.device(),
        stage=fields.stage(),
        id=fields.raw("id", ID_BYTES, ID_BYTES),
        n=fields.whole("n", low=1, high=MAX_RECORDS),
        leader=fields.raw("leader", OVERHEAD_BYTES, LIMITS[KIND]),
        helper=fields.raw("helper", OVERHEAD_BYTES, LIMITS[KIND]),
        round=fields.round(),
    )
