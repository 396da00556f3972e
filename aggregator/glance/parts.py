"""Parts of messages as msgpack has them, to be made once."""

from __future__ import annotations

from typing import Any

import msgpack


def field(name: str, *value: Any) -> bytes:
    """A field of a message, or its name alone.

    >>> field("n", 7), field("device")
    (b'\\xa1n\\x07', b'\\xa6device')
    """
    return b"".join(map(msgpack.packb, (name, *value)))
