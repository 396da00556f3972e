"""The line that names the columns: checked once for everybody who reads a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fsir.errors import TableError, shown, some
from fsir.limits import MAX_FEATURES

MOST_COLUMNS = MAX_FEATURES + 2  # the response, and who a record is of
SHOULD_NAME = "the first line should name the columns"
EMPTY = "is empty: its first line should name the columns, and the others hold the records"


def column_names(fields: Sequence[str], where: str) -> list[str]:
    """The names in a header, without the spaces around them; refused if they are none."""
    if len(fields) > MOST_COLUMNS:
        raise TableError(
            f"{where}: the header names {len(fields)} columns, and a task has at most "
            f"{MAX_FEATURES} features; keep the columns that you need"
        )
    if not fields:
        raise TableError(f"{where}: {EMPTY}")
    names = [name.strip() for name in fields]
    if not any(names):
        raise TableError(f"{where}: {SHOULD_NAME}, and is empty")
    if all(map(is_number, names)):
        raise TableError(
            f"{where}: {SHOULD_NAME}, and it holds numbers alone ({some(names)}); "
            "put a line with the names above it"
        )
    for number, name in enumerate(names, 1):
        if not name:
            index = " (pandas: index=False)" if number == 1 else ""
            raise TableError(
                f"{where}: the header does not name column {number} of {len(names)}; "
                f"name it, or take the column out{index}"
            )
    _refuse_repeated(names, where)
    return names


def _refuse_repeated(names: list[str], where: str) -> None:
    counts = Counter(names)
    if len(counts) == len(names):
        return
    name = next(name for name, count in counts.items() if count > 1)
    first, second, *_ = (number for number, other in enumerate(names, 1) if other == name)
    hint = f" (is it a record? {SHOULD_NAME.capitalize()})" if is_number(name) else ""
    raise TableError(
        f"{where}: columns {first} and {second}: the header has {shown(name)} more than once; "
        f"give every column a name of its own{hint}"
    )


def is_header_again(row: Sequence[str], names: list[str]) -> bool:
    """Whether a row says the names once more; where one is a number, it may be a record as well.

    >>> is_header_again(["a", " y"], ["a", "y"]), is_header_again(["1", "y"], ["1", "y"])
    (True, False)
    """
    if not row or row[0].strip() != names[0]:
        return False
    return [value.strip() for value in row] == names and not any(map(is_number, names))


def look_like_a_record(names: Sequence[str]) -> bool:
    """Whether names are rather the values of a record: half of them numbers, and not counted ones.

    >>> look_like_a_record(["5.1", "3.5", "setosa"]), look_like_a_record(["0", "1", "y"])
    (True, False)
    """
    numbers = [name for name in names if is_number(name)]
    return 2 * len(numbers) >= len(names) and not all(name.isdigit() for name in numbers)


def is_number(text: str) -> bool:
    """Whether a text is a number; `nan` is a word."""
    try:
        return float(text) == float(text)
    except ValueError:
        return False
