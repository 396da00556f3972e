"""`csv:FILE`: a table with a header line, in UTF-8.

What the file is, its separator and its header are told by the same code that reads whole tables
(`fsir.tables`). One line is one row. CSV allows a quoted text to go on in the next line, but then
one stray quote could swallow all rows behind it: such texts are not read, and the log says so.

A cursor has the checksum of the header behind that of its line: under another header the same
values would have other names. Positions of version 0.1 do not have it, and open as they did.
"""

from __future__ import annotations

import csv
import logging
import zlib
from itertools import islice

from edge_agent.errors import SourceError
from edge_agent.records import UNREADABLE, Position, Record
from edge_agent.sources.base import Options
from edge_agent.sources.lines import TOO_LONG, Cursor, Line, LineSource
from fsir.errors import TableError, shown
from fsir.tables.dialect import (
    LINES,
    SURELY_READ,
    fault_of,
    fields_of,
    refuse_decimal_commas,
    separator_of,
)
from fsir.tables.encodings import UTF_8, decoded, encoding_of, lines_of
from fsir.tables.formats import HEAD_BYTES, refuse_other_formats
from fsir.tables.header import EMPTY, SHOULD_NAME, column_names, is_header_again

log = logging.getLogger("fsir.source")

OTHER_LENGTH = "another number of fields than the header"
OPEN_QUOTE = (
    "a quoted text does not end in its line; texts with line breaks cannot be read, take them out"
)
AGAIN = "rows not used: the header again"
NOT_UTF_8 = "rows with bytes that are not UTF-8, which stand for nothing; write UTF-8"
_LINE_CURSOR = 3  # numbers of a cursor that are about the line


class CsvFile(LineSource):
    """Records of a CSV file, also of one that grows (`--follow`)."""

    scheme = "csv"

    def __init__(self, rest: str, options: Options) -> None:
        super().__init__(rest, options.follow)
        self.columns: list[str] = []  # empty until the header is there
        self._checksum = 0  # of the header
        self._separator = ","
        self._time_column = options.time_column
        self._told = False

    def resume(self, after: Position) -> None:
        """Read the header, then go on behind a record."""
        self._read_header()
        if after.cursor is not None and (known := after.cursor[_LINE_CURSOR:]):
            self._compare_header(known[0])
        super().resume(after)

    def _compare_header(self, checksum: int) -> None:
        if checksum != self._checksum:
            raise SourceError(
                f"{self.path}: the header is not the one under which records were read before: "
                "values would count under other names. Bring the old header back, or put new "
                "records, with the new header, into a file with another name"
            )

    def _read_header(self) -> None:
        try:
            head = self._recognise()
            line = self._lines.header()
            if line is not None:
                self._name_columns(line, head)
        except TableError as error:
            raise SourceError(str(error)) from None
        if not self.columns and self.ended:
            self._tell("%s %s", self.path, EMPTY)

    def _recognise(self) -> bytes:
        """The first bytes, if they are text in UTF-8."""
        head = self._lines.head(HEAD_BYTES)
        refuse_other_formats(head, str(self.path))
        if (encoding := encoding_of(head)) != UTF_8:
            name = encoding.upper()
            raise SourceError(
                f"{self.path}: this is {name} text, and an agent reads UTF-8 line by line; "
                f"write UTF-8, or convert it: iconv -f {name} -t UTF-8 FILE > NEW"
            )
        return head

    def _name_columns(self, line: bytes, head: bytes) -> None:
        """The columns, by the first line and what the rows behind it say about the separator."""
        where = str(self.path)
        header = decoded(line, UTF_8, where)
        known = enumerate(lines_of(head.decode(UTF_8, "replace")), 1)
        rows = [(k, row) for k, row in islice(known, LINES) if row.strip()][1:]
        self._separator = separator_of([header, *(row for _, row in rows)])
        try:
            self.columns = column_names(self._header_fields(header), where)
        except TableError as error:
            if line.endswith(b"\n"):
                raise
            self._tell("%s; it may not be complete, and no records follow", error)
            self._lines.read(1)  # to the end
            return
        refuse_decimal_commas(rows, self.columns, self._separator, where)
        self._checksum = zlib.crc32(line)
        self._require_time()

    def _header_fields(self, header: str) -> list[str]:
        try:
            return fields_of(header, self._separator)
        except csv.Error as error:
            raise SourceError(
                f"{self.path}: {SHOULD_NAME}: {fault_of(error, OPEN_QUOTE)}"
            ) from None

    def _require_time(self) -> None:
        if self._time_column not in (None, *self.columns):
            names = ", ".join(self.columns)
            raise SourceError(
                f"--time-column {self._time_column}: {self.path} has no such column, "
                f"but {shown(names)}"
            )

    def _tell(self, text: str, *about: object) -> None:
        """Say once why there will be no records."""
        if not self._told:
            self._told = True
            log.warning(text, *about)

    def poll(self, limit: int) -> list[Record]:
        """Up to `limit` records that are there now; one that is damaged has no values."""
        if not self.columns and not self.ended:
            self._read_header()
        if not self.columns:
            return []
        lines = self._lines.read(limit)
        return self._plain_records(lines) or [self._record(*line) for line in lines]

    def _plain_records(self, lines: list[Line]) -> list[Record]:
        """What `_record` makes of lines that are all plainly rows, together; none of others."""
        rows = self._plain_rows([raw for raw, _ in lines])
        if len(rows) != len(lines) or set(map(len, rows)) != {len(self.columns)}:
            return []
        columns = self.columns
        if any(row[0].strip() == columns[0] for row in rows):
            return []
        about = (self._checksum,)
        records = [
            Record(Position(ordinal, cursor + about), dict(zip(columns, row, strict=False)))
            for ordinal, (row, (_, cursor)) in enumerate(
                zip(rows, lines, strict=True), self._ordinal + 1
            )
        ]
        self._ordinal += len(records)
        return records

    def _plain_rows(self, raws: list[bytes]) -> list[list[str]]:
        """The fields of lines in which there is nothing but fields; none of any others."""
        raw = b"".join(raws)
        text = raw.decode("ascii", "ignore")
        if len(text) != len(raw) or '"' in text or "\r" in text:
            return []
        if max(map(len, raws), default=0) >= SURELY_READ:
            return []
        separator = self._separator
        return [line.split(separator) for line in text.removesuffix("\n").split("\n")]

    def _record(self, raw: bytes, cursor: Cursor) -> Record:
        self._ordinal += 1
        position = Position(self._ordinal, (*cursor, self._checksum))
        values = self._plain_values(raw) or self._values(raw, cursor[0])
        return Record(position, values) if values else Record(position, values, fault=UNREADABLE)

    def _plain_values(self, raw: bytes) -> dict[str, str]:
        """What `_values` gives for a row that is plainly one; none of any other."""
        text = raw.decode("ascii", "ignore")
        if len(text) != len(raw) or not 0 < len(raw) < SURELY_READ:
            return {}
        if '"' in text or "\r" in text:
            return {}
        row = text.removesuffix("\n").split(self._separator)
        if len(row) != len(self.columns) or row[0].strip() == self.columns[0]:
            return {}
        return dict(zip(self.columns, row, strict=True))

    def _values(self, raw: bytes, start: int) -> dict[str, str]:
        """The values of a row; none if nobody knows which is which."""
        text = raw.decode("utf-8", "replace")
        row: list[str] = []
        try:
            row = fields_of(text, self._separator)
            fault = self._fault(raw, row)
        except csv.Error as error:
            fault = f"rows not used: {fault_of(error, OPEN_QUOTE)}"
        if fault:
            self._count(fault, start)
            return {}
        if "\ufffd" in text:
            self._count(NOT_UTF_8, start)
        return dict(zip(self.columns, row, strict=True))

    def _count(self, fault: str, start: int) -> None:
        self.tally.add(fault, where=f"the last one at byte {start}")

    def _fault(self, raw: bytes, row: list[str]) -> str:
        """Why the fields of a line are no record; empty if they are."""
        if not raw:
            return TOO_LONG
        if is_header_again(row, self.columns):
            return AGAIN
        return "" if len(row) == len(self.columns) else f"rows not used: {OTHER_LENGTH}"
