"""What a task may know of its classes in advance: public centres, and a public linear map.

Both are made from a public sample. A device turns a record, alone, into `P^T x - c_h` with the map
P and the centre c_h of the record's own slice: what is estimated then are corrections to what the
sample says, and records are short, because what tells slices apart is gone from them. Why this
costs no privacy stands in docs/privacy.md, proposition 10; how it is computed without rounding in
`fsir.task.exact_map`. A task may also ask of each record whether the nearest public centre is that
of its own class, `fsir.task.nearest`: so reports tell how often the sample is right about others.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fsir.arrays import Matrix

_FLOAT = "<f4"  # of centres and map in the bytes of a task
BYTES_PER_NUMBER = 4


class Public(NamedTuple):
    """Centres and map as the task has them: float32, little endian, row by row."""

    records: int  # of the public sample
    coordinates: int  # q, numbers that a record is turned into
    centres: bytes  # slices x coordinates: the public mean of each slice, after the map
    shares: tuple[float, ...]  # of the slices in the sample
    map: bytes | None = None  # features x coordinates; None: the identity
    # How often the sample is right about parts of itself that it has not seen: what is expected of
    # it before reports come.
    accuracy: float | None = None
    # One number more for each record, the last: +check if the nearest centre is that of its own
    # class, -check if not. None: no such number.
    check: float | None = None

    def matrix(self, p: int) -> Matrix:
        """The map P, of `p` features, features x coordinates."""
        return np.eye(p) if self.map is None else unpack(self.map, self.coordinates)

    def centre_rows(self) -> Matrix:
        """The centres, slices x coordinates."""
        return unpack(self.centres, self.coordinates)


def pack(rows: ArrayLike) -> bytes:
    """Rows of numbers as a task holds them.

    >>> unpack(pack([[1.0, 0.5], [0.0, -2.0]]), 2)
    array([[ 1. ,  0.5],
           [ 0. , -2. ]])
    """
    return np.ascontiguousarray(rows, dtype=_FLOAT).tobytes()


def unpack(raw: bytes, columns: int) -> Matrix:
    """The rows that `pack` was given, rounded to float32."""
    return np.frombuffer(raw, _FLOAT).reshape(-1, columns).astype(np.float64)


def as_text(table: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of a task with base64 in place of bytes, which TOML has not.

    >>> as_text({"name": "example", "public": {"centres": b"abc"}})
    {'name': 'example', 'public': {'centres': 'YWJj'}}
    """
    return {key: _texts(value) for key, value in table.items()}


def _texts(value: Any) -> Any:
    if isinstance(value, Mapping):
        return as_text(value)
    return base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else value
