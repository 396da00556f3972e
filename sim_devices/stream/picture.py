"""Accuracy and expected error against time, drawn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from fsir.fitted.drawing import COLOURS
from sim_devices.stream.following import Point

_COLUMNS = 120  # of the title
_QUIET = "#5d7384"


def draw(points: Sequence[Point], path: Path, title: str) -> Path:
    """Write the picture, PNG or SVG by the name of the file, and return its path."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(1, 2, figsize=(11.4, 4.4))
    _accuracies(axes[0], points)
    _errors(axes[1], points)
    for axis in axes:
        axis.set_xlabel("round")
        axis.grid(axis="y", color="#e6e9ec", linewidth=0.6)
        axis.tick_params(labelsize=8)
        _changes(axis, points)
        axis.legend(fontsize=8, frameon=False, loc="best")
    figure.suptitle(fill(title, _COLUMNS), fontsize=11)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path


def _accuracies(axis: Any, points: Sequence[Point]) -> None:
    rounds = [point.round for point in points]
    axis.set_title("accuracy for people who take no part", fontsize=10)
    axis.set_ylabel("named rightly, percent")
    curves = {
        "federation that goes on": ([point.followed for point in points], COLOURS[0], "-"),
        "reported once": ([point.once for point in points], COLOURS[1], "-"),
        "no federation": ([point.alone for point in points], _QUIET, ":"),
    }
    expected = [point.expected for point in points if point.expected is not None]
    if len(expected) == len(points):
        curves["what it expects of itself"] = (expected, COLOURS[0], "--")
    for name, (values, colour, style) in curves.items():
        axis.plot(rounds, [100 * value for value in values], style, color=colour, label=name)


def _errors(axis: Any, points: Sequence[Point]) -> None:
    rounds = [point.round for point in points]
    axis.set_title("expected error of the subspace", fontsize=10)
    axis.set_ylabel("expected projection loss")
    axis.plot(rounds, [point.error for point in points], color=COLOURS[0], label="goes on")
    once = [point.error_once for point in points]
    axis.plot(rounds, once, color=COLOURS[1], label="reported once, as it was then")


def _changes(axis: Any, points: Sequence[Point]) -> None:
    """Where a drift was noted for the first time."""
    noted = None
    for point in points:
        if point.drift is not None and noted is None:
            axis.axvline(point.round, color="#a8854a", linewidth=1.0, label="drift noted")
        noted = point.drift
