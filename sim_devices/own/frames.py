"""Tables in memory, and what may be asked of them: a DataFrame, or any mapping of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsir.errors import FsirError
from fsir.limits import MAX_DELTA, MAX_EPSILON
from sim_devices.own.rows import CALLED, Feature, Rows, check_columns

_GAPS = frozenset({"", "nan", "None", "<NA>", "NaT"})  # what missing values are as texts


def from_frame(
    frame: Mapping[str, Any],
    response: str,
    by: str,
    wanted: Sequence[str] | None = None,
    name: str = "own",
) -> Rows:
    """All rows of a frame that name their device. Columns of numbers go straight in."""
    columns = {str(key): _array(frame[key]) for key in frame}
    check_columns(columns, "the frame", CALLED, response=response, by=by, features=wanted)
    lengths = {key: len(column) for key, column in columns.items()}
    if other := [key for key, length in lengths.items() if length != lengths[by]]:
        raise FsirError(
            f"the column {other[0]!r} has {lengths[other[0]]} values and {by!r} {lengths[by]}; "
            "give columns of the same length"
        )
    devices = _texts(columns[by])
    named = np.array([bool(device) for device in devices])
    unnamed = int((~named).sum())
    places = np.flatnonzero(named)
    names = wanted or [key for key in columns if key not in (response, by)]
    return Rows(
        name=name,
        response=response,
        by=by,
        devices=[device for device in devices if device],
        responses=_texts(columns[response][named]),
        features={key: _feature(columns[key][named]) for key in names},
        where=lambda row: f"in row {places[row]}",
        strict=wanted is not None,
        style=CALLED,
        notes=(f"{unnamed} rows left out: {by} is empty",) if unnamed else (),
    )


def _array(values: Any) -> NDArray[Any]:
    """The values as they are: numbers among texts stay numbers."""
    array = np.asarray(values)
    return np.asarray(values, dtype=object) if array.dtype.kind in "US" else array


def _texts(values: NDArray[Any]) -> list[str]:
    """Each value as a text, empty where it is missing.

    >>> _texts(np.array([3.0, 2.5, np.nan])), _texts(np.array(["sit", None, True], dtype=object))
    (['3', '2.5', ''], ['sit', '', 'True'])
    """
    return [_text(value) for value in values.tolist()]


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))  # whole numbers with gaps among them are floats to pandas
    text = str(value).strip()
    return "" if text in _GAPS else text


def _feature(values: NDArray[Any]) -> Feature:
    if values.dtype.kind in "biuf":
        numbers = values.astype(np.float64)
        return Feature(np.where(np.isfinite(numbers), numbers, np.nan), {})
    if values.dtype.kind in "mM":  # which `tolist` would make numbers of
        values = values.astype(str)
    found = np.full(len(values), np.nan)
    strange = {}
    for row, value in enumerate(values.tolist()):
        text = _text(value)
        if isinstance(value, bool | int | float):
            found[row] = value if np.isfinite(value) else np.nan
        elif text:
            strange[row] = text
    return Feature(found, strange)


# What a program asks for: refused by name before anything is computed.


def check_frame(frame: Any) -> None:
    """Refuse what has no named columns."""
    if hasattr(frame, "keys"):
        return
    raise FsirError(
        f"frame: a table with named columns is needed, not {type(frame).__name__}; give a pandas "
        "DataFrame (pandas.read_csv reads a file) or a mapping of names to columns"
    )


def check_asked(
    *,
    epsilon: Any,
    delta: Any,
    unseen: Any,
    records: Any,
    unit_records: Any,
    slices: Any,
    seed: Any,
) -> None:
    """Refuse numbers that mean nothing; records may be None."""
    _check_number("epsilon", epsilon, MAX_EPSILON)
    _check_number("delta", delta, MAX_DELTA)
    _check_share("unseen", unseen)
    _check_whole("records", 1 if records is None else records, 1)
    _check_whole("unit_records", unit_records, 1)
    _check_whole("slices", slices, 2)
    _check_whole("seed", seed, 0)


def _check_number(name: str, value: Any, most: float) -> None:
    if not isinstance(value, Real) or not 0.0 < float(value) <= most:
        raise _wrong(name, value, f"a number above 0 and at most {most:g}")


def _check_share(name: str, value: Any) -> None:
    if not isinstance(value, Real) or not 0.0 <= float(value) <= 1.0:
        raise _wrong(name, value, "a share between 0 and 1")


def _check_whole(name: str, value: Any, least: int) -> None:
    if not isinstance(value, Integral) or int(value) < least:
        raise _wrong(name, value, f"a whole number of at least {least}")


def names_of(value: str | Sequence[Any] | None) -> tuple[str, ...] | None:
    """Names as texts; a single one needs no list around it.

    >>> names_of("anna"), names_of([1, 2]), names_of(None)
    (('anna',), ('1', '2'), None)
    """
    if value is None:
        return None
    return (value,) if isinstance(value, str) else tuple(str(name) for name in value)


def _wrong(name: str, value: Any, wanted: str) -> FsirError:
    return FsirError(f"{CALLED.said(name, value)}: give {wanted}")
