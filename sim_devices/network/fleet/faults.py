"""What happens to devices of a simulated federation on the way."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, kw_only=True)
class Faults:
    """Shares of the fleet to which something happens, once each."""

    dropout: float = 0.0  # lose their connection half-way
    crash: float = 0.0  # lose everything that is not in their state, and return
    late: float = 0.0  # come a while after the others
    absent: float = 0.0  # never come


class Fate(NamedTuple):
    """What happens to one device that comes."""

    late: bool = False
    dropped: bool = False
    crashed: bool = False


def fates(devices: int, faults: Faults, seed: int) -> dict[int, Fate]:
    """Of so many devices those that come, by their numbers, and what happens to each of them.

    >>> fates(3, Faults(crash=1.0), seed=1)[2]
    Fate(late=False, dropped=False, crashed=True)
    >>> list(fates(3, Faults(absent=1.0), seed=1))
    [0]
    """
    rng = random.Random(seed)
    came = [number for number in range(devices) if rng.random() >= faults.absent]
    return {
        number: Fate(
            late=rng.random() < faults.late,
            dropped=rng.random() < faults.dropout,
            crashed=rng.random() < faults.crash,
        )
        for number in came or range(devices)[:1]
    }
