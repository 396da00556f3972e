"""Tables in memory: a pandas DataFrame, or any mapping of names to columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsir.errors import FsirError
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
