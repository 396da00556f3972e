"""From bytes to text: which encoding a table has, and where a byte is that does not fit it."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from fsir.errors import TableError

UTF_8 = "utf-8-sig"  # with a byte order mark, or without
_MARKS = (
    (codecs.BOM_UTF8, UTF_8),
    (codecs.BOM_UTF32_LE, "utf-32"),  # which begins like the next but one
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MANY_ZEROS = 0.3  # of every second byte: nearly all letters of a table are ASCII
_LINE = re.compile(r"[^\r\n]+(?:\r\n?|\n)?|\r\n?|\n")
_LINE_END = re.compile(rb"\r\n?|\n")


def encoding_of(head: bytes) -> str:
    """The encoding that the first bytes of a text show.

    >>> encoding_of(b"a,b"), encoding_of(b"a\\0,\\0b\\0"), encoding_of(b"\\xff\\xfea\\0")
    ('utf-8-sig', 'utf-16-le', 'utf-16')
    """
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    pairs = len(head) // 2
    first = head[0::2].count(0)
    second = head[1::2].count(0)
    if max(first, second) <= _MANY_ZEROS * pairs or not pairs:
        return UTF_8
    return "utf-16-le" if second > first else "utf-16-be"


def decoded(raw: bytes, encoding: str, where: str) -> str:
    """The text; a byte that does not fit its encoding is refused with its line."""
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        raise TableError(f"{where}: {_misfit(raw, error)}") from None
    if (at := text.find("\0")) >= 0:
        line = sum(1 for _ in lines_of(text[: at + 1]))
        raise TableError(
            f"{where}: line {line} holds a NUL byte (0x00); "
            "take it out, for example: tr -d '\\000' < FILE > NEW"
        )
    return text


def _misfit(raw: bytes, error: UnicodeDecodeError) -> str:
    if error.encoding.replace("_", "-") != "utf-8":
        return (
            f"{error.encoding} text, damaged at byte {error.start} of {len(raw)}; "
            "save it again, as UTF-8"
        )
    line = 1 + len(_LINE_END.findall(raw, 0, error.start))
    byte = raw[error.start]
    windows = bytes([byte]).decode("cp1252", "replace")
    return (
        f"line {line} holds the byte 0x{byte:02x}, which is not UTF-8 "
        f"(in Windows-1252 it is {windows!r}); save the file as UTF-8, for example: "
        "iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW"
    )


def lines_of(text: str) -> Iterator[str]:
    """The lines of a text with their ends, of which there may be three kinds.

    >>> list(lines_of("a\\nb\\r\\nc\\rd"))
    ['a\\n', 'b\\r\\n', 'c\\r', 'd']
    """
    return (found[0] for found in _LINE.finditer(text))
