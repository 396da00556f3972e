"""When a changed estimate is worth a new version, which goes to every device that listens.

A small federation sees each change. In a large one a version comes when it has grown by some part,
when nothing more comes in, or after an hour: so the number of versions grows with the logarithm of
the number of devices, and the last one is always told.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from fsir.errors import FsirError

SMALL_DEVICES = 200  # up to so many, each change is told
QUIET_SECONDS = 5.0  # without a change: what has come is told
LONGEST_SECONDS = 3600.0  # a slow stream is told of so often
DEFAULT = "growth:5%"
_GROWTH = re.compile(r"growth:(\d+(?:\.\d+)?)%\Z")
_EVERY = re.compile(r"seconds:(\d+(?:\.\d+)?)\Z")


@dataclass(frozen=True)
class Emission:
    """The rule of `--emit`: how much a federation must grow, or how long a version must stand.

    >>> Emission.parse("growth:5%")
    Emission(growth=0.05, seconds=0.0)
    >>> Emission.parse("seconds:60")
    Emission(growth=0.0, seconds=60.0)
    """

    growth: float = 0.05
    seconds: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Emission:
        """The rule in an option's words."""
        if found := _GROWTH.match(text):
            return cls(float(found[1]) / 100.0, 0.0)
        if found := _EVERY.match(text):
            return cls(0.0, float(found[1]))
        raise FsirError(f"--emit {text!r}: write growth:5%, or seconds:60")

    def due(self, shown: Shown, devices: int, now: float, changed: float) -> bool:
        """Whether to tell what has changed last at this time, with so many devices in it."""
        age = now - shown.at
        if age < 0.0 or age >= LONGEST_SECONDS:  # also if the clock was set
            return True
        if age < self.seconds:
            return False
        if shown.devices < SMALL_DEVICES or devices < shown.devices:  # who was withdrawn is out
            return True
        grown = devices >= (1.0 + self.growth) * shown.devices
        return grown or not 0.0 <= now - changed < QUIET_SECONDS


class Shown(NamedTuple):
    """What devices have: from how many it is, and since when."""

    devices: int
    at: float
