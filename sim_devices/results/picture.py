"""Pictures of projected records: one panel per result, side by side, as a PNG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsir.arrays import Flags, Matrix
from fsir.fitted.drawing import COLOURS, MARKERS, coordinates, thinned

WRONG = "named wrongly"
_CROSS = {"color": "black", "marker": "x"}
MOST_POINTS = 600  # per class and panel: more only hide each other


@dataclass(frozen=True)
class Panel:
    """The records of unseen people on the estimated directions;
    `response` holds labels or numbers."""

    title: str
    Z: Matrix
    response: NDArray[Any]
    classes: tuple[str, ...] = ()
    marked: bool = False  # the one that it is all about, among others beside it
    wrong: Flags | None = None  # records that the classifier names wrongly


def draw(panels: Sequence[Panel], path: Path, title: str, response_name: str = "response") -> Path:
    """Write the picture and return its path."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    path.parent.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(
        1, len(panels), figsize=(max(6.0, 1.0 + 4.2 * len(panels)), 4.6), squeeze=False
    )
    for axis, panel in zip(axes[0], panels, strict=True):
        _draw_panel(axis, panel, response_name)
    if panels[0].classes:
        handles, labels = axes[0][0].get_legend_handles_labels()
        named = [words(label) for label in labels]
        figure.legend(
            handles, named, loc="lower center", ncols=len(named), frameon=False, markerscale=2
        )
    figure.suptitle(title)
    figure.tight_layout(rect=(0, 0.06 if panels[0].classes else 0, 1, 1))
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path


def _draw_panel(axis: Any, panel: Panel, response_name: str) -> None:
    name, comma, score = panel.title.rpartition(", ")  # the score on a line of its own
    title = f"{name}\n{score}" if comma else panel.title
    axis.set_title(title, fontsize=10, fontweight="bold" if panel.marked else "normal")
    axis.tick_params(labelsize=8)
    axis.grid(color="#e6e9ec", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.set_xlabel("first direction")
    if not panel.classes:  # a number: against the first direction
        keep = thinned(len(panel.Z), MOST_POINTS * 2)
        x = panel.Z[keep, 0]
        y = panel.response[keep].astype(float)
        axis.scatter(x, y, s=7, alpha=0.5, color=COLOURS[0], linewidths=0)
        axis.set_ylabel(response_name)
        return
    for h, label in enumerate(panel.classes):
        rows = np.flatnonzero(panel.response == label)
        rows = rows[thinned(len(rows), MOST_POINTS)]
        x, y = coordinates(panel.Z[rows], h)
        style = {"color": COLOURS[h % len(COLOURS)], "marker": MARKERS[h % len(MARKERS)]}
        axis.scatter(x, y, s=9, alpha=0.55, linewidths=0, label=label, **style)
        if panel.wrong is not None:
            bad = panel.wrong[rows]
            name = WRONG if h == len(panel.classes) - 1 else ""
            axis.scatter(x[bad], y[bad], s=9, linewidths=0.5, label=name, **_CROSS)
    axis.set_ylabel("second direction" if panel.Z.shape[1] > 1 else "class")
    if panel.Z.shape[1] == 1:  # the height tells classes apart, and nothing else
        axis.set_yticks([])


def words(label: str) -> str:
    """A class as people write it.

    >>> words("WALKING_UPSTAIRS")
    'walking upstairs'
    """
    return label.lower().replace("_", " ")
