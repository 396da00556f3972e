"""Lines of a file, each with a cursor from which reading can go on after a crash.

A cursor is (start, end, checksum) of a line. Whoever resumes checks that the same line is still
there: a file that was replaced or rewritten could bring records back that have been counted. One
line is one record, whatever is in it, so that a damaged one costs itself alone.
"""

from __future__ import annotations

import logging
import os
import zlib
from collections.abc import Sequence
from pathlib import Path

from edge_agent.errors import SourceError
from edge_agent.records import Position
from edge_agent.sources.tally import Tally

log = logging.getLogger("fsir.source")
LONGEST_BYTES = 4 * 2**20  # of one record
FOLLOW_SECONDS = 1.0  # between two looks at the end of a file that grows
TOO_LONG = f"lines not used: longer than {LONGEST_BYTES} bytes"
Cursor = tuple[int, int, int]
Line = tuple[bytes, Cursor]
_CHUNK_BYTES = 65536  # at a time: what is made of them takes six times as much memory


class LineFile:
    """Reads complete lines, without waiting and with bounded memory."""

    def __init__(self, path: str, follow: bool) -> None:
        self._given = Path(path)
        self.path = self._given.resolve()
        self.follow = follow
        self.ended = False
        self._at_end = False
        # Behind the beginning of a line that was a record: what is left of it is none.
        self._torn = False
        self._told = False  # that somebody else has the file's place
        self._cut = False  # the file has lost its end
        # Inside a line that is too long: its start, and its checksum so far.
        self._long: tuple[int, int] | None = None
        try:
            self._file = self.path.open("rb")
        except OSError as error:
            from fsir.tables.files import why_closed

            raise SourceError(f"{self.path}: {why_closed(self.path, error)}") from None

    def rewind(self) -> None:
        """Go on at the beginning."""
        self._file.seek(0)
        self._long = None
        self._torn = False
        self.ended = False

    def head(self, most: int) -> bytes:
        """The first bytes of the file, wherever reading is."""
        return os.pread(self._file.fileno(), most, 0)

    def header(self) -> bytes | None:
        """The first line, if it is there yet; reading goes on behind it."""
        self.rewind()
        lines = self.read(1)
        if self._long is not None:
            raise SourceError(
                f"{self.path}: the first line is longer than {LONGEST_BYTES} bytes; "
                "it should name the columns"
            )
        return lines[0][0] if lines else None

    def resume(self, cursor: Sequence[int]) -> None:
        """Go on behind a line that was read before; what a source has added is its own."""
        start, end, checksum = cursor[:3]
        self._file.seek(start)
        self._long = None
        here = 0  # checksum of what is there now
        left = end - start
        chunk = b""
        while left > 0 and (chunk := self._file.read(min(left, _CHUNK_BYTES))):
            here = zlib.crc32(chunk, here)
            left -= len(chunk)
        if left or here != checksum:
            raise SourceError(
                f"{self.path} is not the file that was read before: records could be counted "
                "twice. Bring the old one back, or put new records into a file with another name"
            )
        # It was not complete when it was read, and may not be yet.
        self._torn = not chunk.endswith(b"\n")

    def read(self, limit: int) -> list[Line]:
        """Up to `limit` lines that are there now, fewer if they are long.

        One that is too long has its place in the file, but no text.
        """
        lines: list[Line] = []
        if self.ended or self._cut:
            # What is added now belongs to the next start, or to a line that was taken as it was.
            return lines
        self._at_end = False
        taken = 0
        while self._torn and (text := self._file.readline(_CHUNK_BYTES)):
            self._torn = not text.endswith(b"\n")
        first = self._file.tell()
        while len(lines) < limit and taken < _CHUNK_BYTES:
            start = first + taken
            text = self._file.readline(LONGEST_BYTES)
            taken += len(text)
            whole = text.endswith(b"\n")
            if self._long is None and len(text) == LONGEST_BYTES and not whole:
                self._long = (start, zlib.crc32(text))
            elif self._long is not None and (text or not self.follow):
                lines += self._go_on(self._long, start, text)
            elif not text or (self.follow and not whole):
                # Half a line: its end is still being written.
                self._reach_end(start)
                break
            elif text.strip():
                lines.append((text, (start, start + len(text), zlib.crc32(text))))
        return lines

    def _go_on(self, long: tuple[int, int], at: int, text: bytes) -> list[Line]:
        """One more piece of a line that is too long; the line, without its text, if it ends."""
        begin, checksum = long
        checksum = zlib.crc32(text, checksum)
        if text and not text.endswith(b"\n"):
            self._long = (begin, checksum)
            return []
        self._long = None
        return [(b"", (begin, at + len(text), checksum))]

    def _reach_end(self, at: int) -> None:
        self._file.seek(at)
        self._at_end = True
        self.ended = not self.follow
        if self.follow and not self._told:
            self._look(at)

    def _look(self, at: int) -> None:
        """Say once if whoever writes has turned to another file, or begun this one anew.

        Nobody would notice.
        """
        ours = os.fstat(self._file.fileno())
        self._cut = ours.st_size < at
        try:
            self._told = self._cut or not os.path.samestat(ours, os.stat(self._given))
        except OSError:
            self._told = True
        if self._told:
            log.warning(
                "%s was %s while it was followed: new records are not read; restart the agent, "
                "which then checks whether the file that is there now continues the old one",
                self.path,
                "cut off" if self._cut else "replaced or deleted",
            )

    def delay(self) -> float:
        """Seconds until there may be more."""
        return FOLLOW_SECONDS if self._at_end else 0.0

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class LineSource:
    """What sources of lines have in common; `scheme` and `poll` are theirs."""

    replayable = True
    unit_records = 1
    label = ""
    scheme: str

    def __init__(self, path: str, follow: bool) -> None:
        self._lines = LineFile(path, follow)
        self.path = self._lines.path
        self.name = f"{self.scheme}:{self.path}"
        self.stream = self.name  # a file is what it is
        self.tally = Tally(self.name)
        self._ordinal = -1

    @property
    def ended(self) -> bool:
        """Whether the end was reached and nobody follows it."""
        return self._lines.ended

    def resume(self, after: Position) -> None:
        """Go on behind a record, or at the beginning."""
        if after.cursor is not None:
            self._lines.resume(after.cursor)
        self._ordinal = after.ordinal

    def fileno(self) -> int | None:
        """A file is always ready."""
        return None

    def delay(self) -> float:
        """How long to wait at the end of a file that grows."""
        return self._lines.delay()

    def close(self) -> None:
        """Close the file."""
        self._lines.close()
