"""Values as a TOML file holds them, in lines that an editor can stand."""

from __future__ import annotations

import base64
import json
import textwrap
from collections.abc import Mapping
from datetime import datetime
from typing import Any

_WIDTH = 100  # characters of a line
_FOLD = 96  # of base64


def toml(value: Any) -> str:
    """A value in TOML; bytes become base64.

    >>> toml(["sit", "walk"]), toml({"a": 1.5})
    ('["sit", "walk"]', '{a = 1.5}')
    """
    if isinstance(value, bytes):
        return _folded(base64.b64encode(value).decode("ascii"))
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {toml(entry)}" for key, entry in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)


def comment(text: str) -> str:
    """Lines of comment.

    >>> comment("what it is")
    '# what it is'
    """
    return textwrap.fill(
        " ".join(text.split()),
        _WIDTH,
        initial_indent="# ",
        subsequent_indent="# ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def is_long(value: Any) -> bool:
    """Whether a value fills lines that nobody reads."""
    if isinstance(value, Mapping):
        return any(is_long(entry) for entry in value.values())
    return isinstance(value, bytes)


def _folded(text: str) -> str:
    """A text over many lines: TOML drops a backslash at the end of a line, and the line's end."""
    lines = [text[k : k + _FOLD] for k in range(0, len(text), _FOLD)]
    return '"""\\\n' + "".join(f"{line}\\\n" for line in lines) + '"""'
