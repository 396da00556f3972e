"""Which columns of a public sample become features, and why the others do not.

A column must hold finite numbers. Where one value in twenty or fewer is missing the rows go, unless
many columns together would take a fifth of the rows: then the columns that miss most go first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fsir.arrays import Flags, Matrix
from fsir.tables.csv_table import NO_ANSWER
from fsir.tables.dialect import has_decimal_comma
from fsir.task.public_sample import varying

MOST_MISSING = 0.05  # of the rows; a column that misses more is left out
MOST_ROWS_LOST = 0.2  # for the sake of columns that miss few
_MISSING = NO_ANSWER | {"null", "none"}
_SAME = 1e-12  # how far from 1 the correlation of copies may be, by rounding
_AT_ONCE = 512  # columns


@dataclass(frozen=True, eq=False)
class Column:
    """One column as numbers, NaN where a value is missing; or why it is none."""

    values: Matrix
    reason: str | None = None


@dataclass(frozen=True, eq=False)
class Cleaned:
    """Features that can be used, the rows that have all of them, and what was left out."""

    names: list[str]
    X: Matrix
    rows: Flags  # of all rows, those that are left
    reasons: dict[str, str]  # by column that was left out
    notes: tuple[str, ...] = ()  # about rows


def column(values: list[str], lines: list[int]) -> Column:
    """The numbers of a column; `lines` are where its values stand in the file.

    >>> column(["1", "", "20"], [2, 3, 4]).values
    array([ 1., nan, 20.])
    >>> column(["1", "warm"], [2, 3]).reason
    "not numbers: 'warm' on line 3"
    """
    found = np.full(len(values), np.nan)
    for i, text in enumerate(values):
        if text.strip().lower() in _MISSING:
            continue
        number = _number(text)
        if number is None:
            hint = " (a decimal comma: write a point)" if has_decimal_comma(text) else ""
            return Column(found, f"not numbers: {text[:40]!r} on line {lines[i]}{hint}")
        found[i] = number
    return Column(found)


def cleaned(columns: dict[str, Column]) -> Cleaned:
    """Leave out what holds no numbers, and whichever is less of columns and rows with gaps."""
    reasons = {name: found.reason for name, found in columns.items() if found.reason is not None}
    gaps = {name: np.isnan(found.values) for name, found in columns.items() if name not in reasons}
    for name, missing in list(gaps.items()):
        if missing.mean() > MOST_MISSING:
            reasons[name] = _missing(missing)
            del gaps[name]
    while gaps and (lost := np.any(list(gaps.values()), axis=0)).mean() > MOST_ROWS_LOST:
        worst = max(gaps, key=lambda name: int(gaps[name].sum()))
        reasons[worst] = _missing(gaps[worst])
        del gaps[worst]
    if not gaps:
        rows = next(len(found.values) for found in columns.values()) if columns else 0
        return Cleaned([], np.empty((rows, 0)), np.ones(rows, dtype=bool), reasons)
    X = np.column_stack([columns[name].values for name in gaps])[~lost]
    notes = (f"{int(lost.sum())} rows left out: a value is missing",) if lost.any() else ()
    return Cleaned(list(gaps), X, ~lost, reasons, notes)


def constants(names: list[str], X: Matrix) -> dict[str, str]:
    """Features that never change in the sample, with the reason to leave them out."""
    varies = varying(X)
    return {name: f"constant: always {X[0, j]:g}" for j, name in enumerate(names) if not varies[j]}


def copies(names: list[str], X: Matrix) -> dict[str, str]:
    """Features that are exact copies of one before them, in whatever unit; every one must vary.

    >>> t = np.array([1.0, 2.0, 4.0])
    >>> list(copies(["celsius", "noise", "fahrenheit"], np.column_stack([t, t * t, 32 + 1.8 * t])))
    ['fahrenheit']
    """
    Z = X - X.mean(axis=0)
    Z /= np.linalg.norm(Z, axis=0)
    found: dict[str, str] = {}
    for start in range(0, len(names), _AT_ONCE):
        same = np.abs(Z.T @ Z[:, start : start + _AT_ONCE]) >= 1.0 - _SAME
        first = same.argmax(axis=0)
        for k, j in enumerate(first.tolist()):
            if j < start + k:
                found[names[start + k]] = (
                    f"an exact copy of {names[j]}, up to its unit: "
                    "exact copies make directions meaningless"
                )
    return found


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _missing(missing: Flags) -> str:
    return f"missing in {int(missing.sum())} of {len(missing)} rows"
