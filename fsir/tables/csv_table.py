"""A CSV file with a header, as texts: the one reader of whole tables."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from fsir.errors import TableError, meant, some
from fsir.tables.dialect import LINES, fault_of, refuse_decimal_commas, separator_of
from fsir.tables.encodings import decoded, encoding_of, lines_of
from fsir.tables.files import read_bytes
from fsir.tables.formats import HEAD_BYTES, refuse_other_formats
from fsir.tables.header import (
    SHOULD_NAME,
    column_names,
    is_header_again,
    look_like_a_record,
)
from fsir.tables.repeats import repeated_rows

__all__ = ["CsvTable", "some"]

NO_ANSWER = frozenset({"", "na", "n/a", "nan", "?"})  # "none" and "null" may be classes
OPEN_QUOTE = 'a text in quotes begins and does not end; close it with a "'
Numbered = tuple[int, list[str]]  # a row, and the line on which it begins


@dataclass(frozen=True, eq=False)
class CsvTable:
    """Rows of texts under a header, and the lines of the file on which they begin."""

    path: Path
    header: list[str]
    rows: list[list[str]]
    lines: list[int]
    option: str = "--sample"  # by which the file was given
    notes: tuple[str, ...] = ()  # what a reader should know about the rows

    @classmethod
    def read(cls, path: Path, option: str = "--sample") -> CsvTable:
        """The header, and all rows that are not empty; every row has a value for each column."""
        where = f"{option} {path}"
        raw = read_bytes(path, where)
        refuse_other_formats(raw[:HEAD_BYTES], where)
        text = decoded(raw, encoding_of(raw[:HEAD_BYTES]), where)
        first = list(islice(_filled(text), LINES))
        separator = separator_of([line for _, line in first])
        records = _records(text, separator, where)
        header = column_names(next(records, (0, []))[1], where)
        refuse_decimal_commas(first[1:], header, separator, where)
        found = list(_checked(records, header, separator, where))
        if not found:
            raise TableError(f"{where}: has a header and no rows; give at least two records")
        lines = [line for line, _ in found]
        rows = [row for _, row in found]
        note = repeated_rows(rows, lines, where)
        notes = () if note is None else (note,)
        return cls(path, header, rows, lines, option, notes)

    def require(self, option: str, name: str | None) -> None:
        """Refuse an option that names no column."""
        if name is None or name in self.header:
            return
        close = meant(name, self.header)
        hint = f"it has {some(self.header)}" if close is None else f"did you mean {close!r}?"
        if len(self.header) == 1:
            known = "comma, semicolon, tab or bar"
            hint += f", its only column: is its separator another one than {known}?"
        elif look_like_a_record(self.header):
            hint += f"; is that a record? {SHOULD_NAME.capitalize()}"
        raise TableError(f"{option} {name!r}: the sample has no such column; {hint}")

    def answered(self, response: str) -> tuple[CsvTable, int]:
        """The rows with a response, for others tell nothing about it, and how many have none."""
        has = [value.strip().lower() not in NO_ANSWER for value in self.values(response)]
        kept = self.only(has)
        if len(kept.rows) < 2:
            raise TableError(
                f"{self.option} {self.path}: {len(kept.rows)} of {len(self.rows)} rows have a "
                f"value in {response!r}; give at least two rows with a response"
            )
        return kept, len(self.rows) - len(kept.rows)

    def only(self, kept: Iterable[bool]) -> CsvTable:
        """Some of the rows."""
        which = [i for i, keep in enumerate(kept) if keep]
        rows = [self.rows[i] for i in which]
        return replace(self, rows=rows, lines=[self.lines[i] for i in which])

    def values(self, name: str) -> list[str]:
        """A column as it stands in the file."""
        at = self.header.index(name)
        return [row[at] for row in self.rows]


def _filled(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are not empty, with their numbers."""
    return ((k, line) for k, line in enumerate(lines_of(text), 1) if line.strip())


def _records(text: str, separator: str, where: str) -> Iterator[Numbered]:
    """The rows of a text that are not empty; a text in quotes may go on in the next line."""
    reader = csv.reader(lines_of(text), delimiter=separator, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise TableError(f"{where}: line {line}: {fault_of(error, OPEN_QUOTE)}") from None
        if row is None:
            return
        if len(row) > 1 or any(value.strip() for value in row):
            yield line, row


def _checked(
    records: Iterator[Numbered], header: list[str], separator: str, where: str
) -> Iterator[Numbered]:
    """The rows, each with as many values as the header, which does not come again."""
    for line, row in records:
        if len(row) != len(header):
            raise TableError(f"{where}: {_ragged(line, row, len(header), separator)}")
        if is_header_again(row, header):
            raise TableError(
                f"{where}: line {line} is the header again: were files joined? Take that line out"
            )
        yield line, row


def _ragged(line: int, row: list[str], wanted: int, separator: str) -> str:
    hint = "mend that line or take it out"
    if any("\n" in value or "\r" in value for value in row):
        hint += ". A text in quotes goes on over several lines: is a quote not closed?"
    elif separator == "," and len(row) > wanted:
        hint += '. Is there a decimal comma (write a point), or a text with a comma (write "a, b")?'
    count = f"{len(row)} value{'' if len(row) == 1 else 's'}"
    return f"line {line} has {count}, and the header names {wanted} columns; {hint}"
