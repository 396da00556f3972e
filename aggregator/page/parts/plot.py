"""A curve with axes, as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from aggregator.page.parts.common import number, picture
from fsir.net.web.markup import Markup, tag

WIDTH = 340.0
HEIGHT = 190.0
_LEFT = 44.0
_RIGHT = 14.0
_TOP = 12.0
_BOTTOM = 34.0
_TICKS = 4  # about
Point = tuple[float, float]


def nice_step(span: float) -> float:
    """A round distance of ticks.

    >>> [nice_step(span) for span in (100.0, 31.0, 0.7)]
    [50.0, 10.0, 0.2]
    """
    raw = max(span, 1e-300) / _TICKS
    size = 10.0 ** math.floor(math.log10(raw))
    return size * next((step for step in (1, 2, 5) if raw <= 1.0001 * step * size), 10)


def nice_end(value: float) -> float:
    """The round number at which an axis ends.

    >>> nice_end(87.0), nice_end(1.31)
    (100.0, 1.5)
    """
    step = nice_step(value)
    return step * math.ceil(value / step - 1e-9)


@dataclass(frozen=True)
class Axes:
    """Both axes begin at 0 and end at a round number."""

    x_end: float
    y_end: float

    def x(self, value: float) -> float:
        """From a value to its place."""
        return _LEFT + value / self.x_end * (WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        """From a value to its place."""
        return HEIGHT - _BOTTOM - value / self.y_end * (HEIGHT - _TOP - _BOTTOM)

    def grid(self, percent: bool, below: str) -> list[Markup]:
        """Lines and numbers."""
        drawn = []
        for value in _ticks(self.y_end):
            y = number(self.y(value))
            text = f"{value:.0%}" if percent else f"{value:g}"
            drawn.append(tag("line", x1=_LEFT, x2=WIDTH - _RIGHT, y1=y, y2=y, class_="grid"))
            drawn.append(_text(_LEFT - 5, self.y(value) + 4, text, "end"))
        under = HEIGHT - _BOTTOM + 14
        whole = (v for v in _ticks(self.x_end) if v.is_integer())  # nobody has half a device
        numbers = [_text(self.x(v), under, f"{v:g}", "middle") for v in whole]
        return [*drawn, *numbers, _text((_LEFT + WIDTH - _RIGHT) / 2, HEIGHT - 4, below, "middle")]

    def level(self, value: float) -> Markup:
        """A line across."""
        y = number(self.y(value))
        return tag("line", x1=_LEFT, x2=WIDTH - _RIGHT, y1=y, y2=y, class_="level")

    def path(self, points: Sequence[Point], style: str) -> Markup:
        """A line through points."""
        places = " ".join(f"{number(self.x(x))},{number(self.y(y))}" for x, y in points)
        return tag("polyline", points=places, class_=style)

    def dot(self, point: Point, style: str) -> Markup:
        """One point."""
        return tag(
            "circle", cx=number(self.x(point[0])), cy=number(self.y(point[1])), r=4.5, class_=style
        )


def _ticks(end: float) -> list[float]:
    step = nice_step(end)
    return [round(k * step, 12) for k in range(round(end / step) + 1)]


def _text(x: float, y: float, text: str, anchor: str) -> Markup:
    return tag("text", text, x=number(x), y=number(y), text_anchor=anchor)


def curve(
    label: str,
    points: Sequence[Point],
    ahead: Point | None,
    *,
    level: float | None = None,
    percent: bool = False,
    below: str = "devices",
) -> Markup:
    """How something grew with the devices (or rounds), and where it is expected to go."""
    all_points = [*points, ahead] if ahead is not None else list(points)
    x_end = nice_end(max(x for x, _ in all_points))
    y_end = 1.0 if percent else nice_end(max(y for _, y in all_points) * 1.05 or 1.0)
    axes = Axes(x_end, y_end)
    drawn = axes.grid(percent, below)
    if level is not None and level <= y_end:
        drawn.append(axes.level(level))
    if ahead is not None:
        drawn.append(axes.path([points[-1], ahead], "ahead"))
        drawn.append(axes.dot(ahead, "ahead"))
    drawn.append(axes.path(points, "curve"))
    drawn.append(axes.dot(points[-1], "newest"))
    return picture(label, WIDTH, HEIGHT, *drawn, style="plot")
