"""What a device learns from: records, and where each one stands in its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


# Neither is frozen, and nobody changes one: both are made for every record, and a frozen one calls
# `object.__setattr__` for each of its fields.
@dataclass(slots=True, unsafe_hash=True)
class Position:
    """Where a record stands in its source: its number, and how the source finds it again."""

    ordinal: int
    cursor: Any = None  # plain JSON


@dataclass(slots=True)
class Record:
    """One record: raw values by name, the response, and the time that it covers.

    >>> Record(Position(0), {"acc_x": 0.1, "activity": "walking"}).y is None
    True
    """

    position: Position
    x: Mapping[str, Any]
    y: Any = None  # the response, unless it is one of the values
    span: tuple[float, float] | None = None  # its first and last time, since the epoch, if known
    fault: str = ""  # why it has no values that could be used; what is offered keeps its place


START = Position(-1)
UNREADABLE = "unreadable"  # the fault of a line or a message that is no record
