"""`csv:FILE`: a table with a header line. Separator: comma, semicolon or tab, whichever the header has most of."""

from __future__ import annotations

import csv

from edge_agent.sources.base import Options, Position, Record
from edge_agent.sources.lines import LineFile


class CsvFile:
    """Records of a CSV file, also of one that grows (`--follow`)."""

    replayable = True

    def __init__(self, rest: str, options: Options) -> None:
        # An odd number of quotes: a quoted text goes on in the next line.
        self._lines = LineFile(rest, options.follow, complete=lambda text: text.count(b'"') % 2 == 0)
        self.name = f"csv:{self._lines.path}"
        self._ordinal = -1
        self._columns: list[str] = []
        self._separator = ","

    @property
    def stream(self) -> str:
        """A file is what it is."""
        return self.name

    @property
    def ended(self) -> bool:
        """Whether the end was reached and nobody follows it."""
        return self._lines.ended

    def resume(self, after: Position) -> None:
        """Read the header, then go on behind a record."""
        self._read_header()
        if after.cursor is not None:
            self._lines.resume(after.cursor)
            self._ordinal = after.ordinal

    def _read_header(self) -> None:
        if (line := self._lines.header()) is not None:
            text = line.decode("utf-8-sig", "replace")
            self._separator = max(",;\t", key=text.count)
            self._columns = [column.strip() for column in next(csv.reader([text], delimiter=self._separator))]

    def poll(self, limit: int) -> list[Record]:
        """Up to `limit` records that are there now."""
        if not self._columns:
            self._read_header()
        found = self._lines.read(limit) if self._columns else []
        texts = (text.decode("utf-8", "replace") for text, _ in found)
        records = []
        for row, (_, cursor) in zip(csv.reader(texts, delimiter=self._separator), found, strict=True):
            self._ordinal += 1
            # A row of another length has lost or gained a separator somewhere: nobody knows which value is which.
            values = dict(zip(self._columns, row, strict=True)) if len(row) == len(self._columns) else {}
            records.append(Record(Position(self._ordinal, cursor), values))
        return records

    def fileno(self) -> int | None:
        """A file is always ready."""
        return None

    def delay(self) -> float:
        """How long to wait at the end of a file that grows."""
        return self._lines.delay()

    def close(self) -> None:
        """Close the file."""
        self._lines.close()
