"""`jsonl:FILE` and `jsonl:-`: one JSON object per line.

Values in nested objects are named by dotted paths.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Iterator
from typing import Any

from edge_agent.records import UNREADABLE, Position, Record
from edge_agent.sources.base import Options, Source
from edge_agent.sources.lines import LONGEST_BYTES, TOO_LONG, LineSource
from edge_agent.sources.tally import Tally

_DEEPEST = 8
# Characters of all paths of an object. Each value repeats the names above it, so that a short text
# with one long name and a long list under it would fill the memory. Real records have a few
# kilobytes of them.
LONGEST_PATHS = 4 * 2**20
_CHUNK_BYTES = 65536
_NESTED = {dict, list}
_NO_RECORD = b"too long"  # instead of such a line: it has its place, and no values
_NO_OBJECT = (
    "lines not used: not a JSON object with values, "
    f"or their paths have over {LONGEST_PATHS} characters"
)


def values_of(text: bytes | bytearray | str) -> dict[str, Any]:
    """The values of a JSON object; empty for anything else, which the agent refuses.

    >>> values_of('{"a": {"b": 1}, "c": [2, 3]}')
    {'a.b': 1, 'c.0': 2, 'c.1': 3}
    """
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(parsed, dict):
        return {}
    if _NESTED.isdisjoint(map(type, parsed.values())):
        return parsed
    flat: dict[str, Any] = {}
    return flat if _flatten(parsed, "", flat, _DEEPEST, LONGEST_PATHS) >= 0 else {}


def record_of(position: Position, values: dict[str, Any]) -> Record:
    """The record with these values; without any it is one that cannot be read, in its place."""
    return Record(position, values, fault="" if values else UNREADABLE)


def _flatten(value: Any, path: str, flat: dict[str, Any], depth: int, left: int) -> int:
    """Put the values under their paths, which have `left` characters.

    Returns how many remain, below 0 if too few.
    """
    left -= len(path)
    if left < 0:
        return left
    if not depth or not isinstance(value, dict | list):
        flat[path] = value
        return left
    for inner, entry in _entries(value, path):
        left = _flatten(entry, inner, flat, depth - 1, left)
        if left < 0:
            break
    return left


def _entries(value: dict[str, Any] | list[Any], path: str) -> Iterator[tuple[str, Any]]:
    """What is in an object or a list, by its path."""
    if isinstance(value, dict):
        yield from ((f"{path}.{key}" if path else key, entry) for key, entry in value.items())
    else:
        yield from ((f"{path}.{index}", entry) for index, entry in enumerate(value))


def open_jsonl(rest: str, options: Options) -> Source:
    """A file, or standard input."""
    return StandardInput() if rest == "-" else JsonlFile(rest, options.follow)


class JsonlFile(LineSource):
    """Records of a file with one JSON object per line, also of one that grows (`--follow`)."""

    scheme = "jsonl"

    def resume(self, after: Position) -> None:
        """Go on behind a record, or at the beginning."""
        self._lines.rewind()
        super().resume(after)

    def poll(self, limit: int) -> list[Record]:
        """Up to `limit` records that are there now."""
        records = []
        for text, cursor in self._lines.read(limit):
            self._ordinal += 1
            values = values_of(text)
            if not values:
                reason = _NO_OBJECT if text else TOO_LONG
                self.tally.add(reason, where=f"the last one at byte {cursor[0]}")
            records.append(record_of(Position(self._ordinal, cursor), values))
        return records


class StandardInput:
    """Records from a pipe.

    Nobody can go back in it: after a crash what was read and not saved is lost. But whoever writes
    waits until it is read.
    """

    replayable = False
    patient = True
    unit_records = 1
    label = ""
    name = "jsonl:-"

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor
        os.set_blocking(descriptor, False)
        self._ordinal = -1
        self._partial = b""
        self._too_long = False  # in the middle of a line that is
        self._lines: deque[bytes] = deque()
        self._closed = False
        self._tally = Tally(self.name)
        # Nobody knows whether a pipe brings what an earlier one brought: the ledger takes it for
        # the same data.
        self.stream = f"{self.name}#{os.urandom(4).hex()}"

    @property
    def ended(self) -> bool:
        """Whether the writer has closed the pipe and everything was handed out."""
        return self._closed and not self._lines

    def resume(self, after: Position) -> None:
        """Number on: an ordinal that was used is never used again."""
        self._ordinal = after.ordinal

    def poll(self, limit: int) -> list[Record]:
        """Up to `limit` records that are there now."""
        if not self._lines and not self._closed:
            self._read()
        records: list[Record] = []
        while self._lines and len(records) < limit:
            self._ordinal += 1
            values = values_of(self._lines.popleft())
            records.append(record_of(Position(self._ordinal), values))
        return records

    def _read(self) -> None:
        try:
            chunk = os.read(self._descriptor, _CHUNK_BYTES)
        except BlockingIOError:
            return
        self._closed = not chunk
        *lines, self._partial = (self._partial + chunk).split(b"\n")
        if self._closed and (self._partial or self._too_long):
            lines.append(self._partial)
        if self._too_long and lines:
            self._too_long = False
            lines[0] = _NO_RECORD  # what is left of it
        if len(self._partial) > LONGEST_BYTES and not self._closed:
            self._tally.add(TOO_LONG)
            self._too_long = True
        if self._too_long:  # do not fill the memory with it
            self._partial = b""
        self._lines.extend(line for line in lines if line.strip())

    def fileno(self) -> int | None:
        """What to wait on."""
        return None if self._lines or self._closed else self._descriptor

    def delay(self) -> float:
        """At once while lines wait, else when something arrives."""
        return 0.0 if self._lines else 3600.0

    def close(self) -> None:
        """Standard input is not ours to close, but others that share it expect it to block."""
        os.set_blocking(self._descriptor, True)
