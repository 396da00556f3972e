"""The grid as Markdown and CSV, and in a few lines: every cell, good or bad."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from sim_devices.worth.cell import MOST_LOST, Cell

LOST = "**worse**"
_HEAD = (
    "set",
    "epsilon",
    "unit",
    "federation",
    "worst",
    "public: plain LDA",
    "public: shrunken LDA",
    "public: task, no reports",
    "best public",
    "difference",
    "not worse?",
    "no noise",
    "pooled LDA (not private)",
    "expected",
    "confidence",
)


def markdown(cells: Sequence[Cell]) -> str:
    """The table, and below it what was expected and what came true."""
    rows = [_HEAD, ("---",) * len(_HEAD), *(_row(cell) for cell in cells)]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    lines = "\n".join(f"| {' | '.join(row)} |" for row in _summary_rows(cells))
    return f"{table}\n\n{verdict(cells)}\n\n{lines}\n"


def verdict(cells: Sequence[Cell]) -> str:
    """How many cells are worse than what is public, and which."""
    lost = [cell for cell in cells if cell.lost]
    kept = (
        f"{len(cells) - len(lost)} of {len(cells)} cells are at least as good as the best that is "
        f"public less {MOST_LOST:g}."
    )
    if not lost:
        return kept
    return f"{kept} Worse: {', '.join(f'{where(cell)} ({_signed(cell)})' for cell in lost)}."


def where(cell: Cell) -> str:
    """Which cell it is.

    >>> from sim_devices.worth.cell import Budget
    >>> where(Cell("har", Budget(1.0, 2), ()))
    'har at epsilon 1, unit of 2'
    """
    unit = cell.budget.unit_records
    return f"{cell.name} at epsilon {cell.budget.epsilon:g}" + (f", unit of {unit}" * (unit > 1))


def summary(cells: Sequence[Cell]) -> dict[str, dict[str, float]]:
    """For each set and for all of them: by how much expectation and truth lie apart."""
    names = dict.fromkeys(cell.name for cell in cells)
    groups = {name: [cell for cell in cells if cell.name == name] for name in names}
    return {name: _apart(group) for name, group in {**groups, "all": list(cells)}.items()}


def comma_separated(cells: Sequence[Cell]) -> str:
    """One line for each cell, with six digits."""
    rows: list[dict[str, Any]] = [cell.row() for cell in cells]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def line(cell: Cell) -> str:
    """One cell for the terminal."""
    means = cell.means
    mark = "  WORSE" if cell.lost else ""
    return (
        f"{where(cell):<38} {means['federation']:.4f} (worst {cell.worst:.4f})  "
        f"best public {means[cell.best_control]:.4f}  {_signed(cell)}{mark}"
    )


def _row(cell: Cell) -> tuple[str, ...]:
    means = {key: _short(value) for key, value in cell.means.items()}
    error = cell.standard_error
    spread = "" if error is None else f" ± {_short(error)}"
    return (
        cell.name,
        f"{cell.budget.epsilon:g}",
        str(cell.budget.unit_records),
        f"**{means['federation']}**",
        _short(cell.worst),
        means["plain"],
        means["shrunken"],
        means["alone"],
        means[cell.best_control],
        f"{_signed(cell)}{spread}",
        LOST if cell.lost else "yes",
        means["quiet"],
        means["pooled"],
        means["expected"],
        means["confidence"],
    )


def _summary_rows(cells: Sequence[Cell]) -> list[tuple[str, ...]]:
    head = (
        "set",
        "cells",
        "mean of abs(expected - true), cells",
        "mean of (expected - true)",
        "mean of abs(expected - true), single runs",
    )
    found = [
        (
            name,
            f"{apart['cells']:g}",
            _short(apart["absolute"]),
            f"{apart['signed']:+.4f}",
            _short(apart["single"]),
        )
        for name, apart in summary(cells).items()
    ]
    return [head, ("---",) * len(head), *found]


def _apart(cells: Sequence[Cell]) -> dict[str, float]:
    surprises = np.array([cell.surprise for cell in cells])
    return {
        "cells": len(cells),
        "absolute": float(np.abs(surprises).mean()),
        "signed": float(surprises.mean()),
        "single": float(np.mean([cell.apart for cell in cells])),
    }


def _signed(cell: Cell) -> str:
    nothing = 0.0  # added, it takes the minus from a difference that is rounded to zero
    return f"{round(cell.difference, 4) + nothing:+.4f}"


def _short(value: float) -> str:
    """
    >>> _short(0.87654), _short(1.0)
    ('.8765', '1.0000')
    """
    return f"{value:.4f}".removeprefix("0")
