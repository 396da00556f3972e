"""How a score changes with one thing: what is drawn, in whatever way it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Dot:
    """One point of a curve."""

    x: float
    y: float
    low: float  # the worst run
    high: float  # the best run
    simulated: bool = False
    marked: bool = False  # the one that it is all about


@dataclass(frozen=True)
class Level:
    """A score that knows nothing of the curve: a control. The kind is public, private or open."""

    name: str
    y: float
    kind: str


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A curve, and the levels that it is held against."""

    title: str
    across: str  # what is varied
    up: str  # what the score is
    dots: Sequence[Dot]
    levels: Sequence[Level]

    @property
    def span(self) -> tuple[float, float]:
        """The lowest and the highest score, with a margin of 5%."""
        every = [value for dot in self.dots for value in (dot.low, dot.high)]
        every += [level.y for level in self.levels]
        margin = 0.05 * (max(every) - min(every) or 1.0)
        return min(every) - margin, max(every) + margin


def apart(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places for labels near these, so that none hides another.

    >>> apart([10.0, 11.0, 50.0], 8.0, 0.0, 100.0)
    [6.5, 14.5, 50.0]
    """
    groups: list[list[int]] = []  # labels that stand side by side, from the lowest on

    def start(group: list[int]) -> float:
        """Where the first label of a group stands, whose middle is where it should be."""
        height = gap * (len(group) - 1)
        middle = sum(places[k] for k in group) / len(group)
        return min(max(middle - height / 2, low), high - height)

    for k in sorted(range(len(places)), key=lambda k: places[k]):
        group = [k]
        while groups and start(group) < start(groups[-1]) + gap * len(groups[-1]):
            group = groups.pop() + group
        groups.append(group)
    found = {k: start(group) + step * gap for group in groups for step, k in enumerate(group)}
    return [found[k] for k in range(len(places))]
