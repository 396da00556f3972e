"""Rows that are in a table more than once: a file that was joined with itself, or just copies."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from fsir.errors import TableError

# With fewer different rows a table holds few different values, and any of them come again.
_FEWEST_DIFFERENT = 10


def repeated_rows(rows: Sequence[Sequence[str]], lines: Sequence[int], where: str) -> str | None:
    """A note on rows that are exact copies of earlier ones; a table that is there twice is refused.

    Twice: how often each row occurs has a common factor, which most occur as often as. Measured
    values do not do that by chance.
    """
    counts = Counter(hash(tuple(row)) for row in rows)
    if len(counts) == len(rows):
        return None
    earlier, later = next(_repeats(rows, lines))
    times = math.gcd(*counts.values())
    usual = sum(count == times for count in counts.values())
    if times > 1 and len(counts) >= _FEWEST_DIFFERENT and 2 * usual >= len(counts):
        raise TableError(
            f"{where}: every row is there {'twice' if times == 2 else f'{times} times'} "
            f"(line {later} repeats line {earlier}): was the file joined with itself? "
            "Leave one copy of each"
        )
    copies = len(rows) - len(counts)
    return (
        f"{copies} of {len(rows)} rows repeat earlier ones exactly (the first: line {later} "
        f"repeats line {earlier}); copies of a record make a sample look better than it is"
    )


def _repeats(rows: Sequence[Sequence[str]], lines: Sequence[int]) -> Iterator[tuple[int, int]]:
    """For each row that repeats an earlier one, the lines of the first such one and of itself."""
    seen: dict[int, int] = {}
    for row, line in zip(rows, lines, strict=True):
        earlier = seen.setdefault(hash(tuple(row)), line)
        if earlier != line:
            yield earlier, line
