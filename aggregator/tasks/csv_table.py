"""A CSV file with a header, as texts."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from fsir.errors import FsirError


@dataclass(frozen=True, eq=False)
class CsvTable:
    """Rows of texts under a header, and the lines of the file on which they stand."""

    path: Path
    header: list[str]
    rows: list[list[str]]
    lines: list[int]

    @classmethod
    def read(cls, path: Path) -> CsvTable:
        """The header, and all rows that are not empty."""
        try:
            with path.open(newline="", encoding="utf-8-sig") as file:
                reader = csv.reader(file)
                header, *rows = [(reader.line_num, row) for row in reader]
        except FileNotFoundError:
            raise FsirError(f"--sample {path}: there is no such file") from None
        except (ValueError, UnicodeDecodeError, csv.Error) as error:
            raise FsirError(
                f"--sample {path}: not a CSV file with a header line ({error})"
            ) from None
        names = header[1]
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            raise FsirError(
                f"--sample {path}: the header has {twice[0]!r} more than once; "
                "give every column a name of its own"
            )
        filled = [(line, row) for line, row in rows if row]
        return cls(path, names, [row for _, row in filled], [line for line, _ in filled])

    def require(self, option: str, name: str | None) -> None:
        """Refuse an option that names no column."""
        if name is not None and name not in self.header:
            raise FsirError(
                f"{option} {name!r}: the sample has no such column; it has {some(self.header)}"
            )

    def answered(self, response: str) -> tuple[CsvTable, int]:
        """The rows with a response, for others tell nothing about it, and how many have none."""
        at = self.header.index(response)
        has = [len(row) <= at or bool(row[at].strip()) for row in self.rows]
        kept = self.only(has)
        if len(kept.rows) < 2 or any(len(row) != len(self.header) for row in kept.rows):
            raise FsirError(
                f"--sample {self.path}: give at least two rows with a response, "
                f"each with as many values as the header ({len(self.header)})"
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


def some(names: Iterable[str]) -> str:
    """The first few of many names.

    >>> some("abcdefghij")
    'a, b, c, d, e, f, g, h, ...'
    """
    listed = list(names)
    return ", ".join(listed[:8]) + (", ..." if len(listed) > 8 else "")
