"""Pictures of a subspace, by matplotlib: records on its directions, or the directions themselves.

A bar is the loading of a feature on a direction of unit length, for records that are standardised
by the task. Its whisker is two standard deviations to either side, as `fsir.fitted.uncertainty`
derives them from the expected error: it knows how far off the space is, and takes every way as
likely as any other. Under a task with a public map the expected error is counted in units of the
scatter within classes, which says nothing about single loadings: there the angle stands alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import fill
from typing import Any

import numpy as np

from fsir.arrays import Matrix
from fsir.fitted import door
from fsir.fitted.drawing import COLOURS, MARKERS, coordinates, thinned
from fsir.fitted.errors import InputError
from fsir.fitted.uncertainty import loading_sd, sine, unit_length
from fsir.task.task import Task
from fsir.wire.messages import Subspace

MOST_BARS = 20  # features in a panel, those with the largest loadings
MOST_POINTS = 600  # of a class: more only hide each other
WHISKER = 2.0  # standard deviations
_PANELS_PER_ROW = 3
_LONGEST_NAME = 28  # characters
_LETTERS = 12  # of a title, in an inch
_FAINT = "#9aa5ad"  # of a direction that noise alone could have made
_GRID = {"color": "#e6e9ec", "linewidth": 0.6}


def _pyplot() -> Any:
    return door.library("matplotlib.pyplot", "matplotlib")


# --- records --------------------------------------------------------------------------------------


def scatter(task: Task, Z: Matrix, labels: Any = None, *, predicted: bool = False) -> Any:
    """Records on the first two directions, coloured by label; the Figure.

    One direction alone is spread out by class. A numeric response stands against the first one.
    """
    if labels is not None and len(labels) != len(Z):
        raise InputError(f"y has {len(labels)} entries for {len(Z)} records")
    figure, axis = _pyplot().subplots(figsize=(6.4, 4.8), layout="constrained")
    axis.set_title(task.name)
    axis.set_xlabel("first direction")
    axis.grid(**_GRID)
    axis.set_axisbelow(True)
    if labels is not None and not task.response.classes:
        rows = thinned(len(Z), 2 * MOST_POINTS)
        _points(axis, Z[rows, 0], np.asarray(labels, dtype=np.float64)[rows], 0, "")
        axis.set_ylabel(task.response.name)
        return figure
    names = np.full(len(Z), "") if labels is None else np.array([str(label) for label in labels])
    for h, name in enumerate(_in_order(task.response.classes, names)):
        rows = np.flatnonzero(names == name)
        rows = rows[thinned(len(rows), MOST_POINTS)]
        _points(axis, *coordinates(Z[rows], h), h, name)
    if labels is not None:
        style = {"loc": "outside right upper", "frameon": False, "markerscale": 1.6}
        title = task.response.name + (", predicted" if predicted else "")
        figure.legend(title=title, **style)
    if Z.shape[1] > 1:
        axis.set_ylabel("second direction")
    else:  # the height tells classes apart, and nothing else
        axis.set_yticks([])
    return figure


def _in_order(classes: Sequence[str], names: Any) -> list[str]:
    """Those of the classes that are there, in the order of the task, and then whatever else is."""
    there = set(names.tolist())
    return [name for name in classes if name in there] + sorted(there - set(classes))


def _points(axis: Any, x: Matrix, y: Matrix, h: int, name: str) -> None:
    colour = COLOURS[h % len(COLOURS)]
    marker = MARKERS[(h + h // len(COLOURS)) % len(MARKERS)]  # the ninth class has another pair
    axis.scatter(x, y, s=16, alpha=0.6, linewidths=0, color=colour, marker=marker, label=name)


# --- directions -----------------------------------------------------------------------------------


def loadings(task: Task, subspace: Subspace) -> Any:
    """The largest loadings of each direction as bars, one panel each; the Figure."""
    d = subspace.dimension
    columns = min(d, _PANELS_PER_ROW)
    rows = math.ceil(d / columns)
    bars = min(MOST_BARS, len(subspace.features))
    size = (4.6 * columns, rows * (1.5 + 0.24 * bars))
    figure, grid = _pyplot().subplots(
        rows, columns, figsize=size, squeeze=False, layout="constrained"
    )
    axes = grid.ravel()
    for k, axis in enumerate(axes[:d]):
        _bars(axis, task, subspace, k)
    for axis in axes[d:]:
        axis.remove()
    title = fill(f"{task.name}: {_how_sure(task, subspace)}", round(_LETTERS * size[0]))
    figure.suptitle(title, fontsize=10)
    return figure


def _bars(axis: Any, task: Task, subspace: Subspace, k: int) -> None:
    values = unit_length(subspace.basis)[:, k]
    largest = np.argsort(-np.abs(values), kind="stable")[:MOST_BARS][::-1]
    whiskers = None
    if task.public is None:
        whiskers = WHISKER * loading_sd(subspace.basis, subspace.expected_error)[largest]
    names = [_short(subspace.features[j]) for j in largest]
    places = np.arange(len(names))  # two long names may be cut to the same
    seen = bool(subspace.singular_values[k] > subspace.noise_level)
    style = {"ecolor": "#333333", "error_kw": {"elinewidth": 0.9, "capsize": 2}}
    colour = COLOURS[0] if seen else _FAINT
    axis.barh(places, values[largest], xerr=whiskers, color=colour, **style)
    axis.set_yticks(places, names, fontsize=8)
    axis.tick_params(axis="x", labelsize=8)
    axis.axvline(0.0, color="#333333", linewidth=0.8)
    axis.grid(axis="x", **_GRID)
    axis.set_axisbelow(True)
    axis.set_title(_of_direction(subspace, k, seen), fontsize=9)
    axis.set_xlabel(_left_out(subspace), fontsize=8)


def _of_direction(subspace: Subspace, k: int, seen: bool) -> str:
    name = f"direction {k + 1}" + ("" if seen else ", lost in the noise")
    value = subspace.singular_values[k]
    return f"{name}\nsingular value {value:.2f}, noise {subspace.noise_level:.2f}"


def _left_out(subspace: Subspace) -> str:
    p = len(subspace.features)
    return "loading" if p <= MOST_BARS else f"loading: the {MOST_BARS} largest of {p}"


def _how_sure(task: Task, subspace: Subspace) -> str:
    degrees = math.degrees(math.asin(sine(subspace.expected_error, subspace.dimension)))
    about = f"directions off by about {degrees:.0f} degrees of 90"
    if task.public is not None:
        kind = "classes" if task.response.classes else "slices"
        return f"{about}, in units of the scatter within {kind}; not known for single loadings"
    return f"{about}; whiskers: two standard deviations, if the error has no preferred way"


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
