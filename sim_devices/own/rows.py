"""A table as it was brought, by rows: of which device each one is, its response, its features.

Nothing is chosen here: which features can be used is decided by the public sample alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fsir.arrays import Flags, Matrix
from fsir.errors import FsirError, meant, some
from fsir.limits import DEVICE_NAME


class Style(NamedTuple):
    """How a user says something."""

    naming: str
    saying: str

    def option(self, name: str) -> str:
        """An option by its name."""
        return self.naming.format(name)

    def said(self, name: str, value: object) -> str:
        """An option as the user has said it, or might say it."""
        return self.saying.format(name, value)


TYPED = Style("--{}", "--{} {!r}")  # on the command line
CALLED = Style("{}", "{}={!r}")  # to the library


class Feature(NamedTuple):
    """One column as numbers, NaN where there is none."""

    values: Matrix
    strange: dict[int, str]  # by row: what stands there, if it is neither a number nor a gap


@dataclass(frozen=True, eq=False, kw_only=True)
class Rows:
    """All rows of a table that say of which device they are."""

    name: str  # of the federation
    response: str  # its column
    by: str | None  # the column that names the device; None: the name of its file does
    devices: list[str]  # of each row
    responses: list[str]  # as texts, empty where there is none
    features: dict[str, Feature]
    where: Callable[[int], str]  # where a row stands
    strict: bool = False  # whether the user has named the features
    style: Style = TYPED
    notes: tuple[str, ...] = ()

    def said(self, option: str, value: object) -> str:
        """An option as the user has said it, or might say it."""
        return self.style.said(option, value)

    def order(self) -> list[str]:
        """The devices in the order in which they come."""
        return list(dict.fromkeys(self.devices))

    def of(self, devices: Iterable[str]) -> Flags:
        """Which rows are of these devices."""
        wanted = set(devices)
        return np.array([device in wanted for device in self.devices], dtype=bool)

    def matrix(self, names: list[str]) -> Matrix:
        """These features, rows x features."""
        return np.column_stack([self.features[name].values for name in names])


def check_columns(
    header: Iterable[str],
    source: str,
    style: Style,
    *,
    response: str,
    by: str | None,
    features: Sequence[str] | None,
) -> None:
    """Refuse what names no column, or one column for two things."""
    known = list(header)
    asked = [("response", response), *(("features", name) for name in features or ())]
    asked += [] if by is None else [("by", by)]
    for option, name in asked:
        if name not in known:
            close = meant(name, known)
            hint = f"it has {some(known)}" if close is None else f"did you mean {close!r}?"
            raise FsirError(f"{style.said(option, name)}: {source} has no such column; {hint}")
    names = [name for _, name in asked]
    if twice := [name for name in names if names.count(name) > 1]:
        raise FsirError(
            f"the column {twice[0]!r} is asked for twice; response, device and features are "
            "different columns, each named once"
        )


def plain_names(names: Iterable[str]) -> dict[str, str]:
    """A name for each device that can stand in a topic: its own wherever that is possible.

    >>> plain_names(["kitchen", "living room", "living/room"])
    {'kitchen': 'kitchen', 'living room': 'living-room', 'living/room': 'living-room-2'}
    """
    given = list(names)
    taken = {name for name in given if DEVICE_NAME.match(name)}
    found = {}
    for name in given:
        found[name] = name if name in taken else _free(plain_name(name, "device"), taken)
        taken.add(found[name])
    return found


def plain_name(text: str, otherwise: str) -> str:
    """A text as the name of a task or a device.

    >>> plain_name("my table (2)", "own")
    'my-table-2'
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._")[:60] or otherwise


def _free(name: str, taken: set[str]) -> str:
    count = 2
    free = name
    while free in taken:
        free = f"{name}-{count}"
        count += 1
    return free
