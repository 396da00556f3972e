"""Bytes of unknown origin take little memory, however they are made."""

from __future__ import annotations

import tracemalloc

import msgpack
import pytest

from fsir.contract import decode_task
from fsir.errors import FsirError, MessageError
from fsir.limits import LIMITS
from fsir.wire.decode import decode
from fsir.wire.messages import Active, Report
from fsir.wire.unpack import unpack
from tests.fsir.wire.samples import KINDS, changed


def test_a_message_above_its_limit_is_not_looked_at():
    with pytest.raises(MessageError, match="at most 4194304 are accepted"):
        decode(b"\x80" * (LIMITS["report"] + 1), Report)


@pytest.mark.parametrize("depth", [500, 1020])  # the second is deeper than Python can print
def test_nesting_as_deep_as_msgpack_allows_raises_the_one_error(depth):
    deep = b"\x91" * depth + b"\x90"
    raw = changed("active", features="@")[0].replace(b"\xa1@", deep)
    with pytest.raises(MessageError):
        decode(raw, Active)
    with pytest.raises(FsirError):
        decode_task(b"\x81\xa4name" + deep)


def bomb(kind: str, what: str) -> bytes:
    """A message as long as its limit whose parts are as small as can be."""
    size = LIMITS[kind] - 100
    if (
        what == "nested"
    ):  # each list ends with the next one, so that none is complete before the last is
        entries = 64 if kind == "report" else 20_000
        level = b"\xdc" + entries.to_bytes(2, "big") + b"\xa2ab" * (entries - 1)
        return b"\x81\xa1v" + level * min(size // len(level), 500) + b"\x90"
    part = {"maps": b"\x80", "lists": b"\x90", "texts": b"\xa2ab", "numbers": b"\xcd\xff\xff"}[what]
    number = size // len(part)
    return b"\x81\xa1v\xdd" + number.to_bytes(4, "big") + part * number


@pytest.mark.parametrize("kind", ["report", "task", "active", "subspace"])
@pytest.mark.parametrize("what", ["maps", "lists", "texts", "numbers", "nested"])
def test_a_hostile_message_takes_little_more_memory_than_its_bytes(kind, what):
    raw = bomb(kind, what)
    tracemalloc.start()
    try:
        with pytest.raises(FsirError):
            decode_task(raw) if kind == "task" else decode(raw, KINDS[kind])
        assert tracemalloc.get_traced_memory()[1] < 2 * LIMITS[kind] + 2**22
    finally:
        tracemalloc.stop()


def test_a_message_of_many_fields_is_refused():
    with pytest.raises(MessageError, match="too many parts"):
        unpack(msgpack.packb({str(i): i for i in range(60_000)}))
