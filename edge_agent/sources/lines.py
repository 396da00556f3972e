"""Lines of a file, each with a cursor from which reading can go on after a crash.

A cursor is (start, end, checksum) of a line. Whoever resumes checks that the same line is still there: a file that was
replaced or rewritten could bring records back that have been counted. One line is one record, whatever is in it, so
that a damaged one costs itself alone.
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
LONGEST = 4 * 2**20  # bytes of one record
FOLLOW_SECONDS = 1.0  # between two looks at the end of a file that grows
TOO_LONG = f"lines not used: longer than {LONGEST} bytes"
Cursor = tuple[int, int, int]
_CHUNK = 65536


class LineFile:
    """Reads complete lines, without waiting and with bounded memory."""

    def __init__(self, path: str, follow: bool) -> None:
        self._given, self.path = Path(path), Path(path).resolve()
        self.follow = follow
        self.ended = self._at_end = False
        self._torn = (
            False  # behind the beginning of a line that was a record: what is left of it is none
        )
        self._told = self._cut = (
            False  # that somebody else has the file's place; that it has lost its end
        )
        self._long: tuple[int, int] | None = (
            None  # inside a line that is too long: its start, its checksum so far
        )
        try:
            self._file = self.path.open("rb")
        except OSError as error:
            raise SourceError(
                f"{self.path}: {error.strerror}; give the path of a file that can be read"
            ) from None

    def rewind(self) -> None:
        """Go on at the beginning."""
        self._file.seek(0)
        self._long, self._torn, self.ended = None, False, False

    def header(self) -> bytes | None:
        """The first line, if it is there yet; reading goes on behind it."""
        self.rewind()
        found = self.read(1)
        if self._long is not None:
            raise SourceError(
                f"{self.path}: the first line is longer than {LONGEST} bytes; it should name the columns"
            )
        return found[0][0] if found else None

    def resume(self, cursor: Sequence[int]) -> None:
        """Go on behind a line that was read before."""
        start, end, checksum = cursor
        self._file.seek(start)
        self._long = None
        found, left, chunk = 0, end - start, b""
        while left > 0 and (chunk := self._file.read(min(left, _CHUNK))):
            found, left = zlib.crc32(chunk, found), left - len(chunk)
        if left or found != checksum:
            raise SourceError(
                f"{self.path} is not the file that was read before: records could be counted twice. Bring the old one "
                "back, or put new records into a file with another name"
            )
        self._torn = not chunk.endswith(
            b"\n"
        )  # it was not complete when it was read, and may not be yet

    def read(self, limit: int) -> list[tuple[bytes, Cursor]]:
        """Up to `limit` lines that are there now; one that is too long has its place in the file, but no text."""
        found: list[tuple[bytes, Cursor]] = []
        if self.ended or self._cut:
            return found  # what is added now belongs to the next start, or to a line that was taken as it was
        self._at_end, taken = False, 0
        while self._torn and (text := self._file.readline(_CHUNK)):
            self._torn = not text.endswith(b"\n")
        while len(found) < limit and taken < LONGEST:
            start = self._file.tell()
            text = self._file.readline(LONGEST)
            taken += len(text)
            if self._long is None and len(text) == LONGEST and not text.endswith(b"\n"):
                self._long = (start, zlib.crc32(text))
            elif self._long is not None and (text or not self.follow):
                begin, checksum = self._long
                self._long = (begin, zlib.crc32(text, checksum))
                if not text or text.endswith(b"\n"):
                    found.append((b"", (begin, start + len(text), self._long[1])))
                    self._long = None
            elif not text or (
                self.follow and not text.endswith(b"\n")
            ):  # half a line: its end is still being written
                self._file.seek(start)
                self._at_end, self.ended = True, not self.follow
                self._look(start)
                break
            elif text.strip():
                found.append((text, (start, start + len(text), zlib.crc32(text))))
        return found

    def _look(self, at: int) -> None:
        """Say once if whoever writes has turned to another file, or begun this one anew: nobody would notice."""
        if not self.follow or self._told:
            return
        ours = os.fstat(self._file.fileno())
        self._cut = ours.st_size < at
        try:
            self._told = self._cut or not os.path.samestat(ours, os.stat(self._given))
        except OSError:
            self._told = True
        if self._told:
            log.warning(
                "%s was %s while it was followed: new records are not read; restart the agent, which then checks "
                "whether the file that is there now continues the old one", self.path,
                "cut off" if self._cut else "replaced or deleted",
            )  # fmt: skip

    def delay(self) -> float:
        """Seconds until there may be more."""
        return FOLLOW_SECONDS if self._at_end else 0.0

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class LineSource:
    """What sources of lines have in common; `scheme` and `poll` are theirs."""

    replayable = True
    scheme: str

    def __init__(self, path: str, follow: bool) -> None:
        self._lines = LineFile(path, follow)
        self.path = self._lines.path
        self.name = self.stream = f"{self.scheme}:{self.path}"  # a file is what it is
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
