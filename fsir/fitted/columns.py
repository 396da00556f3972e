"""From what people hold in their hands, a DataFrame or an array, to rows of numbers."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from fsir.arrays import Matrix
from fsir.errors import shown
from fsir.fitted.errors import InputError

_SHOWN = 5  # names in an error


def rows_of(X: Any, features: Sequence[str]) -> Matrix:
    """Rows over the features, in their order.

    Of a DataFrame columns are taken by name, wherever they stand, and others are left alone; an
    array has one column for each feature.

    >>> rows_of([[1, 2.5]], ("a", "b"))
    array([[1. , 2.5]])
    """
    named = hasattr(X, "columns")
    rows = _numbers(_chosen(X, features) if named else X, features)
    if rows.ndim != 2:
        raise InputError(
            f"Expected a table with two dimensions, got {rows.ndim}. Reshape your data: one record "
            "is a table of one row, X.reshape(1, -1) or frame.loc[[label]]"
        )
    if rows.shape[1] != len(features):
        raise InputError(
            f"X has {rows.shape[1]} features, but Subspace is expecting {len(features)} features "
            f"as input, in this order: {_list(features)}; or give a DataFrame that names them"
        )
    _check_finite(rows, features)
    return rows


def _chosen(frame: Any, features: Sequence[str]) -> Any:
    counts = Counter(frame.columns)
    if missing := [name for name in features if not counts[name]]:
        others = [str(name) for name in counts if name not in set(features)]
        near = difflib.get_close_matches(missing[0], others, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"X has {_list(list(counts))}"
        raise InputError(
            f"X lacks {len(missing)} of {len(features)} features: {_list(missing)}; {hint}"
        )
    if twice := [name for name in features if counts[name] > 1]:
        raise InputError(f"X has columns of the same name: {_list(twice)}; keep one of each")
    return frame[list(features)]


def _numbers(values: Any, features: Sequence[str]) -> Matrix:
    # A sparse matrix is no array: numpy would take it for a single thing.
    if hasattr(values, "toarray"):
        raise InputError("X is sparse, which is not supported; pass X.toarray()")
    array = np.asarray(values)
    if array.dtype.kind == "c":
        raise InputError("Complex data not supported: records are real numbers")
    if array.dtype.kind in "mM":
        raise InputError("X holds dates or durations; records are numbers: convert them")
    try:
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        where = _first(array, features)
        raise InputError(f"X holds something that is no number: {where}") from error


def _first(array: Any, features: Sequence[str]) -> str:
    """The first value that is no number, and where it stands."""
    for place, value in np.ndenumerate(array):
        try:
            float(value)
        except (TypeError, ValueError):
            known = len(place) == 2 and place[1] < len(features)
            column = f", {features[place[1]]!r}" if known else ""
            plain = value.item() if isinstance(value, np.generic) else value
            return f"{shown(plain)} in row {place[0] if place else 0}{column}"
    return shown(array)


def _check_finite(rows: Matrix, features: Sequence[str]) -> None:
    bad = ~np.isfinite(rows)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InputError(
            f"X holds NaN or infinity in {int(bad.any(axis=1).sum())} of {len(rows)} rows, first "
            f"in row {row}, {features[column]!r}; leave such rows out, or fill them in"
        )


def _list(names: Sequence[Any]) -> str:
    more = "" if len(names) <= _SHOWN else f" and {len(names) - _SHOWN} more"
    return ", ".join(repr(name) for name in names[:_SHOWN]) + more
