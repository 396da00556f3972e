"""Curves side by side, as a PNG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from fsir.fitted.drawing import COLOURS
from sim_devices.results.curves import Chart, apart

_LEVELS = {"public": "#5d7384", "private": "#9aa8b2", "open": "#a8854a"}
_COLUMNS = 110  # of the title
_LINE = 0.065  # between two labels, in heights of a chart


def draw(charts: Sequence[Chart], path: Path, title: str) -> Path:
    """Write the picture and return its path."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(1, len(charts), figsize=(5.2 * len(charts), 4.4), squeeze=False)
    for axis, chart in zip(axes[0], charts, strict=True):
        _draw(axis, chart)
    figure.suptitle(fill(title, _COLUMNS), fontsize=11)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path


def _draw(axis: Any, chart: Chart) -> None:
    low, high = chart.span
    axis.set_title(chart.title, fontsize=10)
    axis.set_xlabel(chart.across)
    axis.set_ylabel(chart.up)
    axis.set_ylim(100 * low, 100 * high)
    axis.grid(axis="y", color="#e6e9ec", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.tick_params(labelsize=8)
    _levels(axis, chart, low, high)
    _curve(axis, chart)


def _levels(axis: Any, chart: Chart, low: float, high: float) -> None:
    places = [(level.y - low) / (high - low) for level in chart.levels]
    labels = apart(places, _LINE, 0.02, 0.98)
    for level, place, label in zip(chart.levels, places, labels, strict=True):
        colour = _LEVELS[level.kind]
        axis.axhline(100 * level.y, color=colour, linewidth=1.2, linestyle=":")
        axis.annotate(
            level.name,
            xy=(1.0, place),
            xytext=(1.04, label),
            xycoords="axes fraction",
            fontsize=8,
            color=colour,
            va="center",
            arrowprops={"arrowstyle": "-", "color": "#c9d0d6", "linewidth": 0.7},
        )


def _curve(axis: Any, chart: Chart) -> None:
    dots = chart.dots
    xs = [dot.x for dot in dots]
    real = [dot for dot in dots if not dot.simulated]
    beyond = [*real[-1:], *(dot for dot in dots if dot.simulated)]
    axis.set_xscale("log")
    for part, style in ((real, "-"), (beyond, "--")):
        ys = [100 * dot.y for dot in part]
        axis.plot([dot.x for dot in part], ys, style, color=COLOURS[0], linewidth=1.6)
    for dot in dots:
        axis.plot([dot.x] * 2, [100 * dot.low, 100 * dot.high], color=COLOURS[0], alpha=0.5)
        inside = "white" if dot.simulated else COLOURS[0]
        size = 9 if dot.marked else 6
        axis.plot(dot.x, 100 * dot.y, "o", ms=size, mfc=inside, mec=COLOURS[0])
    axis.set_xticks(xs, [f"{x:g}" for x in xs])
    axis.set_xticks([], minor=True)
    margin = (max(xs) / min(xs)) ** 0.06 if len(xs) > 1 else 2.0
    axis.set_xlim(min(xs) / margin, max(xs) * margin)
