"""From untrusted bytes to a table, of bounded size in bytes and in parts."""

from __future__ import annotations

from typing import Any

import msgpack

from fsir.errors import MessageError
from fsir.limits import LIMITS
from fsir.wire import bounds

_SHOWN = 60  # characters of another library's error
# Parts of a message; a report has few, its numbers being packed ...
_PARTS = {"report": 64, "ask": 16, "shared": 32, "cohort": 32}
# ... and a task of 20,000 features has a name, a centre and a scale for each.
_PARTS_ELSEWHERE = 100_000
_DEEPEST = 8  # lists in lists
# msgpack has no common base for its errors; deep nesting raises its own StackError or a
# RecursionError.
_NOT_MSGPACK = (
    ValueError,
    TypeError,
    OverflowError,
    RecursionError,
    msgpack.UnpackException,
)


def unpack(raw: bytes, kind: str = "task", limit: int | None = None) -> dict[str, Any]:
    """A msgpack map with text keys; `limit` is for who knows a tighter one than that of `kind`.

    >>> unpack(b"\\x81\\xa1v\\x01")
    {'v': 1}
    """
    limit = LIMITS[kind] if limit is None else min(limit, LIMITS[kind])
    if len(raw) > limit:
        raise MessageError(f"message of {len(raw)} bytes: at most {limit} are accepted")
    try:
        bounds.check(raw, _PARTS.get(kind, _PARTS_ELSEWHERE), _DEEPEST)
        table = msgpack.unpackb(raw, strict_map_key=True)  # bounds every length by len(raw)
    except _NOT_MSGPACK as error:
        raise MessageError(f"not msgpack: {type(error).__name__}: {str(error)[:_SHOWN]}") from None
    if not isinstance(table, dict) or set(map(type, table)) - {str}:
        raise MessageError("not a message: a map with text keys is expected")
    return table
