"""The form that the reports of one stage have as devices write them, which is read at a glance.

Most of a report is what everybody knows of its task: one pattern finds what is its own. Whatever
does not fit is read field by field (`fsir.wire.sealed`), where it is told what is wrong with it, if
anything is; what fits would be read there as the same report.
"""

from __future__ import annotations

import re

import msgpack

from aggregator.glance.parts import field
from fsir.limits import LIMITS
from fsir.wire.messages import VERSION
from fsir.wire.packing.codec import Packed
from fsir.wire.packing.rice import MOST_BITS
from fsir.wire.sealed import SealedReport

_WHOLE = rb"(?:[\x00-\x7f\xe0-\xff]|[\xcc\xd0].|[\xcd\xd1]..|[\xce\xd2]....)"  # of at most 32 bits
_LENGTH = rb"\xc4.|\xc5..|\xc6...."  # of the bytes that follow
_length = re.compile(_LENGTH, re.DOTALL)
_REPORT = rb"""
    ([\x87\x88]) %(start)b
    ([\xa1-\xbf\xd9][ -@]?[A-Za-z0-9._-]{1,64}) %(stage)b  # a name; how long it is, is compared
    (%(whole)b) (?: %(round)b (%(whole)b) )? %(blocks)b
    (\x94 %(whole)b{4} [\x00-\x%(bits)02x]) (%(length)b)
"""


class Form:
    """What all reports of one stage have in common."""

    def __init__(
        self, task: bytes, stage: str, sizes: tuple[int, ...], n: tuple[int, int], rounds: int
    ) -> None:
        """`n` are the fewest and the most records that a report may be about."""
        self._task = task
        self._stage = stage
        self._sizes = sizes
        self._fewest, self._most = n
        self._rounds = rounds
        start = (
            field("v", VERSION) + field("kind", "report") + field("task", task) + field("device")
        )
        parts = {
            b"start": re.escape(start),
            b"stage": re.escape(field("stage", stage) + field("n")),
            b"round": re.escape(field("round")),
            b"blocks": re.escape(field("blocks") + b"\x95" + msgpack.packb(sizes)),
            b"whole": _WHOLE,
            b"bits": MOST_BITS,
            b"length": _LENGTH,
        }
        self._pattern = re.compile(_REPORT % parts, re.DOTALL | re.VERBOSE)

    def read(self, raw: bytes, device: str) -> SealedReport | None:
        """The report of this device in these bytes; None if they have to be looked at closely."""
        found = self._pattern.match(raw)
        if found is None or len(raw) > LIMITS["report"]:
            return None
        fields, name, n, round, centres, length = found.groups()
        start = found.end()
        end = start + int.from_bytes(length[1:], "big")
        rest = _length.match(raw, end)
        if rest is None or rest.end() + int.from_bytes(rest[0][1:], "big") != len(raw):
            return None
        first = round is None
        if name != msgpack.packb(device) or fields != (b"\x87" if first else b"\x88"):
            return None
        numbers = msgpack.unpackb(b"\x94%b%b%b" % (n, b"\x01" if first else round, centres))
        records, number, middles, k = numbers
        if not (self._fewest <= records <= self._most and (first or 2 <= number <= self._rounds)):
            return None
        unary = raw[start:end]
        packed = Packed(self._sizes, tuple(middles), k, unary, raw[rest.end() :])
        return SealedReport(self._task, device, self._stage, records, packed, None, number)
