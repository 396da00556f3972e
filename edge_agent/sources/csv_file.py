"""`csv:FILE`: a table with a header line.

The separator is comma, semicolon or tab, whichever the header has most of. One line is one row. CSV
allows a quoted text to go on in the next line, but then one stray quote could swallow all rows
behind it: such texts are not read, and the log says so.
"""

from __future__ import annotations

import csv
import logging

from edge_agent.errors import SourceError
from edge_agent.records import UNREADABLE, Position, Record
from edge_agent.sources.base import Options
from edge_agent.sources.lines import TOO_LONG, LineSource
from fsir.errors import shown

log = logging.getLogger("fsir.source")

OTHER_LENGTH = "another number of fields than the header"
OPEN_QUOTE = (
    "a quoted text does not end in its line; texts with line breaks cannot be read, take them out"
)
LINE_END = "a carriage return, which ends lines, in the middle of the line"


class CsvFile(LineSource):
    """Records of a CSV file, also of one that grows (`--follow`)."""

    scheme = "csv"

    def __init__(self, rest: str, options: Options) -> None:
        super().__init__(rest, options.follow)
        self.columns: list[str] = []  # empty until the header is there
        self._separator = ","
        self._time_column = options.time_column
        self._told = False

    def resume(self, after: Position) -> None:
        """Read the header, then go on behind a record."""
        self._read_header()
        super().resume(after)

    def _read_header(self) -> None:
        if (line := self._lines.header()) is not None:
            self._name_columns(line.decode("utf-8-sig", "replace"))
        elif self.ended and not self._told:
            self._told = True
            log.warning(
                "%s is empty: its first line should name the columns, "
                "and the others hold the records",
                self.path,
            )

    def _name_columns(self, header: str) -> None:
        self._separator = max(",;\t", key=header.count)
        try:
            self.columns = [column.strip() for column in self._fields(header)]
        except csv.Error as error:
            raise SourceError(
                f"{self.path}: the first line should name the columns: {_reason(error)}"
            ) from None
        if not self.columns:
            raise SourceError(f"{self.path}: the first line should name the columns, and is empty")
        if self._time_column not in (None, *self.columns):
            names = ", ".join(self.columns)
            raise SourceError(
                f"--time-column {self._time_column}: {self.path} has no such column, "
                f"but {shown(names)}"
            )

    def _fields(self, text: str) -> list[str]:
        """The fields of one line.

        Strict: a quote that is not closed is an error, and not the end of a text.
        """
        return next(csv.reader([text], delimiter=self._separator, strict=True))

    def poll(self, limit: int) -> list[Record]:
        """Up to `limit` records that are there now; one that is damaged has no values."""
        if not self.columns:
            self._read_header()
        records = []
        for text, cursor in self._lines.read(limit) if self.columns else []:
            self._ordinal += 1
            values = self._values(text, cursor[0])
            fault = "" if values else UNREADABLE
            records.append(Record(Position(self._ordinal, cursor), values, fault=fault))
        return records

    def _values(self, text: bytes, start: int) -> dict[str, str]:
        """The values of a row; none if nobody knows which is which."""
        try:
            row = self._fields(text.decode("utf-8", "replace"))
            if len(row) == len(self.columns):
                return dict(zip(self.columns, row, strict=True))
            reason = f"rows not used: {OTHER_LENGTH}" if text else TOO_LONG
        except csv.Error as error:
            reason = f"rows not used: {_reason(error)}"
        self.tally.add(reason, where=f"the last one at byte {start}")
        return {}


def _reason(error: csv.Error) -> str:
    """In our words: those of the module are about its own options."""
    said = str(error)
    if "end of data" in said:
        return OPEN_QUOTE
    return LINE_END if "new-line" in said else said
