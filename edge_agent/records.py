"""What a device learns from: records, and where each one stands in its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Position:
    """Where a record stands in its source: its number, and what the source needs to find it again."""

    ordinal: int
    cursor: Any = None  # plain JSON


@dataclass(frozen=True, slots=True)
class Record:
    """One record: raw values by name, the response unless it is one of the values, and the time that it covers."""

    position: Position
    x: Mapping[str, Any]
    y: Any = None
    span: tuple[float, float] | None = (
        None  # first and last moment, seconds since the epoch; None: not known
    )


START = Position(-1)
