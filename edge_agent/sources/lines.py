"""Lines of a file, each with a cursor from which reading can go on after a crash.

A cursor is (start, end, checksum) of a line. Whoever resumes checks that the same line is still there: a file that was
replaced or rewritten could bring records back that have been counted.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

from edge_agent.errors import SourceError
from edge_agent.sources.base import Position

LONGEST = 4 * 2**20  # bytes of one record
FOLLOW_SECONDS = 1.0  # between two looks at the end of a file that grows
Cursor = tuple[int, int, int]


class LineFile:
    """Reads complete lines, without waiting; `complete` says whether a text is a whole record."""

    def __init__(self, path: str, follow: bool, complete: Callable[[bytes], bool] = lambda text: True) -> None:
        self.path = Path(path).resolve()
        self.follow, self._complete = follow, complete
        self.ended = self._at_end = False
        try:
            self._file = self.path.open("rb")
        except OSError as error:
            raise SourceError(f"{self.path}: {error.strerror}; give the path of a file that can be read") from None

    def header(self) -> bytes | None:
        """The first line, if it is there yet; reading goes on behind it."""
        self._file.seek(0)
        found = self.read(1)
        return found[0][0] if found else None

    def resume(self, cursor: Sequence[int]) -> None:
        """Go on behind a line that was read before."""
        start, end, checksum = cursor
        self._file.seek(start)
        if zlib.crc32(self._file.read(end - start)) != checksum:
            raise SourceError(
                f"{self.path} is not the file that was read before: records could be counted twice. Bring the old one "
                "back, or put new records into a file with another name"
            )

    def read(self, limit: int) -> list[tuple[bytes, Cursor]]:
        """Up to `limit` lines that are there now."""
        found: list[tuple[bytes, Cursor]] = []
        self._at_end = False
        while len(found) < limit:
            start = self._file.tell()
            text = self._file.readline(LONGEST)
            while text.endswith(b"\n") and not self._complete(text) and len(text) < LONGEST:
                more = self._file.readline(LONGEST)
                if not more:
                    break
                text += more
            if len(text) >= LONGEST:
                raise SourceError(f"{self.path}: the record at byte {start} is longer than {LONGEST} bytes")
            whole = text.endswith(b"\n") and self._complete(text)
            if not text or (not whole and self.follow):  # half a line: its end is still being written
                self._file.seek(start)
                self._at_end, self.ended = True, not self.follow
                break
            if text.strip():
                found.append((text, (start, start + len(text), zlib.crc32(text))))
        return found

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

    def __init__(self, path: str, follow: bool, complete: Callable[[bytes], bool] = lambda text: True) -> None:
        self._lines = LineFile(path, follow, complete)
        self.path = self._lines.path
        self.name = self.stream = f"{self.scheme}:{self.path}"  # a file is what it is
        self._ordinal = -1

    @property
    def ended(self) -> bool:
        """Whether the end was reached and nobody follows it."""
        return self._lines.ended

    def resume(self, after: Position) -> None:
        """Go on behind a record."""
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
