"""One panel as a drawing that stays sharp: points, axes with ticks, and what the axes are."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass

import numpy as np

from fsir.arrays import Flags, Matrix
from fsir.fitted.drawing import COLOURS, coordinates, thinned
from sim_devices.results.picture import Panel

# In units of the drawing, which is as wide as its place allows.
_WIDTH = 400
_HEIGHT = 360
_LEFT = 46
_RIGHT = 10
_TOP = 10
_BOTTOM = 44
_MOST_POINTS = 250  # of a class: more only hide each other
_TICKS = 5


@dataclass(frozen=True, eq=False, kw_only=True)
class _Group:
    """The points of one class, or all of them."""

    label: str
    colour: str
    x: Matrix
    y: Matrix
    wrong: Flags


@dataclass(frozen=True)
class _Axis:
    """From numbers to places on the drawing."""

    low: float
    high: float
    start: float  # place of the lowest number
    end: float

    def place(self, values: Matrix) -> Matrix:
        share = (values - self.low) / ((self.high - self.low) or 1.0)
        return np.asarray(self.start + share * (self.end - self.start))


def svg(panel: Panel, response: str) -> str:
    """The panel as SVG; it takes its ink from the page's colours."""
    groups = _groups(panel)
    across = _axis(np.concatenate([group.x for group in groups]), _LEFT, _WIDTH - _RIGHT)
    up = _axis(np.concatenate([group.y for group in groups]), _HEIGHT - _BOTTOM, _TOP)
    flat = bool(panel.classes) and panel.Z.shape[1] == 1  # one direction: height only spreads
    name = ("class" if flat else "second direction") if panel.classes else response
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{_text(panel.title)}">',
        *_across(across, "first direction"),
        *_up(up, name, numbered=not flat),
        *(part for group in groups for part in _points(group, across, up)),
        "</svg>",
    ]
    return "".join(parts)


def ticks(low: float, high: float, count: int = _TICKS) -> list[float]:
    """About so many round numbers between two others.

    >>> ticks(-3.2, 4.1)
    [-2.0, 0.0, 2.0, 4.0]
    """
    rough = (high - low) / count or 1.0
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * round_one for round_one in (1, 2, 5, 10) if unit * round_one >= rough)
    first = math.ceil(low / step)
    last = math.floor(high / step)
    return [round(k * step, 12) for k in range(first, last + 1)]


def _groups(panel: Panel) -> list[_Group]:
    if not panel.classes:
        rows = thinned(len(panel.Z), 3 * _MOST_POINTS)
        y = panel.response[rows].astype(float)
        none = np.zeros(len(rows), bool)
        return [_Group(label="", colour=COLOURS[0], x=panel.Z[rows, 0], y=y, wrong=none)]
    groups = []
    for h, label in enumerate(panel.classes):
        rows = np.flatnonzero(panel.response == label)
        rows = rows[thinned(len(rows), _MOST_POINTS)]
        x, y = coordinates(panel.Z[rows], h)
        wrong = np.zeros(len(rows), bool) if panel.wrong is None else panel.wrong[rows]
        colour = COLOURS[h % len(COLOURS)]
        groups.append(_Group(label=label, colour=colour, x=x, y=y, wrong=wrong))
    return groups


def _axis(values: Matrix, start: float, end: float) -> _Axis:
    """With a margin of 3% on either side."""
    low = float(values.min())
    high = float(values.max())
    margin = 0.03 * ((high - low) or 1.0)
    return _Axis(low - margin, high + margin, start, end)


def _across(axis: _Axis, name: str) -> list[str]:
    y = _HEIGHT - _BOTTOM
    values = np.array(ticks(axis.low, axis.high))
    parts = [f'<path class="axis" d="M{_LEFT} {y}H{_WIDTH - _RIGHT}"/>']
    for value, x in zip(values, axis.place(values), strict=True):
        parts.append(f'<path class="grid" d="M{x:.1f} {y}V{_TOP}"/>')
        parts.append(f'<text x="{x:.1f}" y="{y + 16}" text-anchor="middle">{value:g}</text>')
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{y + 36}" text-anchor="middle">{_text(name)}</text>')
    return parts


def _up(axis: _Axis, name: str, *, numbered: bool) -> list[str]:
    parts = [f'<path class="axis" d="M{_LEFT} {_HEIGHT - _BOTTOM}V{_TOP}"/>']
    values = np.array(ticks(axis.low, axis.high) if numbered else [])
    for value, y in zip(values, axis.place(values), strict=True):
        parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    turned = f'transform="translate(12 {middle}) rotate(-90)" text-anchor="middle"'
    parts.append(f"<text {turned}>{_text(name)}</text>")
    return parts


def _points(group: _Group, across: _Axis, up: _Axis) -> list[str]:
    xs = across.place(group.x)
    ys = up.place(group.y)
    crosses = "".join(
        f"M{x - 2:.1f} {y - 2:.1f}l4 4m0-4l-4 4"
        for x, y in zip(xs[group.wrong], ys[group.wrong], strict=True)
    )
    return [
        f'<g fill="{group.colour}" fill-opacity=".6"><title>{_text(group.label)}</title>',
        *(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.4"/>' for x, y in zip(xs, ys, strict=True)),
        "</g>",
        f'<path class="wrong" d="{crosses}"/>' if crosses else "",
    ]


def _text(value: str) -> str:
    return html.escape(value, quote=True)
