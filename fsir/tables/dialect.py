"""How the values of a line are told apart: the separator, and decimal commas, which are refused."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

from fsir.errors import TableError

SEPARATORS = ",;\t|"
LINES = 21  # by which a dialect is known: the header, and rows that confirm it
BEHIND_QUOTE = 'text behind a closing quote; write a quote inside of a text twice: ""'
LINE_END = (
    "a carriage return in the middle of a line; end lines with a line feed, for example: "
    "tr '\\r' '\\n' < FILE > NEW"
)
SURELY_READ = 100_000  # characters; csv has a limit of 131,072 for one value
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?\Z")


def separator_of(lines: Sequence[str]) -> str:
    """The separator that the header has and most rows behind it confirm; of equals the commonest.

    >>> separator_of(["a;b;y"]), separator_of(["x, in m;y, in m;z", "1;2;3"]), separator_of(["a"])
    (';', ';', ',')
    """
    header = lines[0] if lines else ""
    rows = lines[1:]
    widths = {separator: _width(header, separator) for separator in SEPARATORS}

    def confirmed(separator: str) -> tuple[int, int]:
        width = widths[separator]
        agree = sum(_width(row, separator) == width for row in rows) if width > 1 else -1
        return agree, width

    return max(SEPARATORS, key=confirmed)


def fields_of(line: str, separator: str) -> list[str]:
    """The values of one line.

    Strict: a quote that is not closed is an error, and not the end of a text.

    >>> fields_of('1,"a, b",', ","), fields_of("1,2\\n", ",")
    (['1', 'a, b', ''], ['1', '2'])
    """
    plain = line.rstrip("\r\n")
    # Without quotes and line ends inside, and short enough, there is nothing that csv would do.
    unmarked = '"' not in plain and "\r" not in plain and "\n" not in plain
    if unmarked and 0 < len(plain) < SURELY_READ:
        return plain.split(separator)
    return next(csv.reader([line], delimiter=separator, strict=True))


def fault_of(error: csv.Error, open_quote: str) -> str:
    """What is wrong with a line, in our words: those of the module are about its own options."""
    said = str(error)
    if "end of data" in said or "field limit" in said:
        return open_quote
    if "expected after" in said:
        return BEHIND_QUOTE
    return LINE_END if "new-line" in said else said


def refuse_decimal_commas(
    rows: Sequence[tuple[int, str]], names: Sequence[str], separator: str, where: str
) -> None:
    """Refuse `1,5` where another separator leaves the comma free, in lines with these numbers.

    Nobody knows whether 1,234 is little more than one or more than a thousand.
    """
    if separator == ",":
        return
    for number, line in rows:
        values = next(csv.reader([line], delimiter=separator), [])
        for name, value in zip(names, values, strict=False):
            if has_decimal_comma(value):
                raise TableError(
                    f"{where}: line {number}, column {name!r}: {value.strip()!r} has a decimal "
                    "comma, which could also mark thousands; write numbers with a point, for "
                    "example: sed 's/,/./g' FILE > NEW"
                )


def has_decimal_comma(value: str) -> bool:
    """Whether this would be a number if its comma were a point.

    >>> has_decimal_comma("-1,5"), has_decimal_comma("1.5"), has_decimal_comma("a,b")
    (True, False, False)
    """
    return _DECIMAL_COMMA.match(value.strip()) is not None


def _width(line: str, separator: str) -> int:
    try:
        return len(next(csv.reader([line], delimiter=separator), []))
    except csv.Error:  # a value that is too long
        return 0
