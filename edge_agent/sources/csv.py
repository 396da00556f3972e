"""`csv:FILE`: a table with a header line. Separator: comma, semicolon or tab, whichever the header has most of."""

from __future__ import annotations

import csv

from edge_agent.sources.base import Options, Position, Record
from edge_agent.sources.lines import LineSource


class CsvFile(LineSource):
    """Records of a CSV file, also of one that grows (`--follow`)."""

    scheme = "csv"

    def __init__(self, rest: str, options: Options) -> None:
        # An odd number of quotes: a quoted text goes on in the next line.
        super().__init__(rest, options.follow, complete=lambda text: text.count(b'"') % 2 == 0)
        self.columns: list[str] = []  # empty until the header is there
        self._separator = ","

    def resume(self, after: Position) -> None:
        """Read the header, then go on behind a record."""
        self._read_header()
        super().resume(after)

    def _read_header(self) -> None:
        if (line := self._lines.header()) is not None:
            text = line.decode("utf-8-sig", "replace")
            self._separator = max(",;\t", key=text.count)
            self.columns = [column.strip() for column in next(csv.reader([text], delimiter=self._separator))]

    def poll(self, limit: int) -> list[Record]:
        """Up to `limit` records that are there now."""
        if not self.columns:
            self._read_header()
        found = self._lines.read(limit) if self.columns else []
        texts = (text.decode("utf-8", "replace") for text, _ in found)
        records = []
        for row, (_, cursor) in zip(csv.reader(texts, delimiter=self._separator), found, strict=True):
            self._ordinal += 1
            # A row of another length has lost or gained a separator somewhere: nobody knows which value is which.
            values = dict(zip(self.columns, row, strict=True)) if len(row) == len(self.columns) else {}
            records.append(Record(Position(self._ordinal, cursor), values))
        return records
