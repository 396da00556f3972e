"""A curve as a drawing inside the page: no script, sharp at any width, by day and by night."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from itertools import pairwise

from sim_devices.results.curves import Chart, Dot, apart
from sim_devices.results.scatter import ticks

# In units of the drawing, which is as wide as its place allows.
_WIDTH = 400
_HEIGHT = 300
_LEFT = 44
_RIGHT = 128  # for the names of the levels
_TOP = 12
_BOTTOM = 42
_LINE = 14  # between two labels
_COLOURS = {"public": "--public", "private": "--device", "open": "--open"}
STYLE = (
    ".curve{stroke:var(--mine);stroke-width:2;fill:none}"
    ".curve.drawn{stroke-dasharray:4 4}"
    ".run{stroke:var(--mine);stroke-width:1.2;opacity:.55}"
    "circle.run{fill:var(--mine);opacity:1}circle.run.drawn{fill:var(--box)}"
    ".level{stroke-width:1.5;stroke-dasharray:3 3;fill:none}"
    ".lead{stroke:var(--line);fill:none}"
    ".curves figcaption{min-height:0}"
)


def svg(chart: Chart) -> str:
    """The curve over a logarithmic axis, and its levels by name at the right."""
    low, high = chart.span
    xs = _across([dot.x for dot in chart.dots])
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{_text(_said(chart))}">',
        *_axes(chart, xs, low, high),
        *_levels(chart, low, high),
        *_curve(chart.dots, xs, low, high),
        "</svg>",
    ]
    return "".join(parts)


def _up(value: float, low: float, high: float) -> float:
    bottom = _HEIGHT - _BOTTOM
    return bottom - (value - low) / (high - low) * (bottom - _TOP)


def _across(values: Sequence[float]) -> list[float]:
    """Places by the logarithm: half as many and twice as many are equally far."""
    start = _LEFT + 14
    end = _WIDTH - _RIGHT - 14
    if len(values) == 1:
        return [(start + end) / 2]
    logs = [math.log(value) for value in values]
    return [start + (log - logs[0]) / (logs[-1] - logs[0]) * (end - start) for log in logs]


def _axes(chart: Chart, xs: Sequence[float], low: float, high: float) -> list[str]:
    bottom = _HEIGHT - _BOTTOM
    right = _WIDTH - _RIGHT
    parts = []
    for value in ticks(low, high):
        y = _up(value, low, high)
        parts.append(f'<path class="grid" d="M{_LEFT} {y:.1f}H{right}"/>')
        parts.append(_label(_LEFT - 6, y + 4, f"{100 * value:g}", "end"))
    parts.append(f'<path class="axis" d="M{_LEFT} {_TOP}V{bottom}H{right}"/>')
    for dot, x in zip(chart.dots, xs, strict=True):
        parts.append(_label(x, bottom + 16, f"{dot.x:g}", "middle"))
    parts.append(_label((_LEFT + right) / 2, bottom + 36, chart.across, "middle"))
    turned = f'transform="translate(11 {(_TOP + bottom) / 2:.1f}) rotate(-90)"'
    parts.append(f'<text {turned} text-anchor="middle">{_text(chart.up)}</text>')
    return parts


def _levels(chart: Chart, low: float, high: float) -> list[str]:
    right = _WIDTH - _RIGHT
    places = [_up(level.y, low, high) for level in chart.levels]
    labels = apart(places, _LINE, _TOP, _HEIGHT - _BOTTOM)
    parts = []
    for level, y, label in zip(chart.levels, places, labels, strict=True):
        colour = f'style="stroke:var({_COLOURS[level.kind]})"'
        parts.append(f'<path class="level" {colour} d="M{_LEFT} {y:.1f}H{right}"/>')
        parts.append(f'<path class="lead" d="M{right} {y:.1f}L{right + 8} {label:.1f}"/>')
        parts.append(_label(right + 10, label + 4, level.name, "start"))
    return parts


def _curve(dots: Sequence[Dot], xs: Sequence[float], low: float, high: float) -> list[str]:
    places = [(x, _up(dot.y, low, high)) for x, dot in zip(xs, dots, strict=True)]
    parts = []
    for ((x, y), (u, v)), dot in zip(pairwise(places), dots[1:], strict=True):
        drawn = " drawn" if dot.simulated else ""
        parts.append(f'<path class="curve{drawn}" d="M{x:.1f} {y:.1f}L{u:.1f} {v:.1f}"/>')
    for (x, y), dot in zip(places, dots, strict=True):
        drawn = " drawn" if dot.simulated else ""
        ends = f"M{x:.1f} {_up(dot.low, low, high):.1f}V{_up(dot.high, low, high):.1f}"
        parts.append(f'<path class="run" d="{ends}"/>')
        said = f"<title>{dot.x:g}: {100 * dot.y:.1f}</title>"
        size = 5.5 if dot.marked else 3.5
        parts.append(
            f'<circle class="run{drawn}" cx="{x:.1f}" cy="{y:.1f}" r="{size}">{said}</circle>'
        )
    return parts


def _said(chart: Chart) -> str:
    values = ", ".join(f"{dot.x:g}: {100 * dot.y:.1f}" for dot in chart.dots)
    return f"{chart.title}: {chart.up} by {chart.across}: {values}"


def _label(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{_text(text)}</text>'


def _text(value: str) -> str:
    return html.escape(value, quote=True)
