"""A few columns of figures, for a terminal and for a page."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

STYLE = (
    ".wide{overflow-x:auto}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "th,td{padding:.2rem .8rem .2rem 0;text-align:right;white-space:nowrap}"
    "th{color:var(--faint);font-weight:400;border-bottom:1px solid var(--line)}"
    "td:last-child,th:last-child{text-align:left;padding-left:.4rem}"
    "tr.mine td{font-weight:700}tr.first td{border-top:1px solid var(--grid);padding-top:.5rem}"
)


@dataclass(frozen=True)
class Row:
    """Texts, the last of which is a remark."""

    cells: tuple[str, ...]
    marked: bool = False  # the one that it is all about
    first: bool = False  # of a group


@dataclass(frozen=True)
class Table:
    """A question, and an answer in each row."""

    question: str
    head: tuple[str, ...]
    rows: Sequence[Row]


def lines(table: Table) -> list[str]:
    """The table for a terminal: numbers end below each other.

    >>> lines(Table("?", ("epsilon", "right", ""), [Row(("1", "90.8%", "simulated"))]))
    ['   epsilon  right', '         1  90.8%  simulated']
    """
    every = [table.head, *(row.cells for row in table.rows)]
    widths = [max(len(cells[k]) for cells in every) for k in range(len(table.head) - 1)]
    marks = ["   ", *("=> " if row.marked else "   " for row in table.rows)]
    text = []
    for mark, cells in zip(marks, every, strict=True):
        aligned = [cell.rjust(width) for cell, width in zip(cells, widths, strict=False)]
        text.append(mark + "  ".join([*aligned, cells[-1]]).rstrip())
    return text


def page(table: Table) -> str:
    """The table for a page; where it is too wide it moves, and the page does not."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in table.head)
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(_row(row) for row in table.rows)}</tbody></table></div>"
    )


def _row(row: Row) -> str:
    names = [name for name, has in (("mine", row.marked), ("first", row.first)) if has]
    mark = f' class="{" ".join(names)}"' if names else ""
    return f"<tr{mark}>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row.cells)}</tr>"
