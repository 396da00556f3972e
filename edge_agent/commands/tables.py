"""How tables are shown to people: in columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def print_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Columns as wide as their widest entry.

    >>> print_table(["task", "records"], [["activity", "39 of 100"], ["heart", ""]])
    task      records
    activity  39 of 100
    heart
    """
    lines = [heads, *rows]
    widths = [max(len(line[k]) for line in lines) for k in range(len(heads))]
    for line in lines:
        padded = (text.ljust(width) for text, width in zip(line, widths, strict=True))
        print("  ".join(padded).rstrip())
