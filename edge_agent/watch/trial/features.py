"""What the values of each feature look like beside what the task expects."""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass

import numpy as np

from edge_agent.watch.counts import FAR_SCALES, FAR_TRUNCATIONS
from fsir.arrays import Flags, Matrix
from fsir.task.task import Task

FEWEST_ROWS = 20  # of which something can be said
HALF = 0.5
_AWAY = 5.0  # scales by which a mean may differ between people, and hardly by more
_SHRUNK = 0.002  # scales: people vary by more than this in every feature that we have seen
# Two columns were exchanged if both lie this far from where they should, and fit in each other's
# place by so much better. Among hundreds of features one such pair is a person's own way.
_EXCHANGED_SCALES = 1.5
_FOR_SURE_SCALES = 2.5
_BETTER = 1.0 / 3.0
_SENSOR_SHARE = 0.05  # of all features
_FEW_FEATURES = 20
_FEWEST_PAIRS = 3
_MOST_CANDIDATES = 200
FACTORS = {
    "1000 times too large": 1e-3,
    "1000 times too small": 1e3,
    "a million times too large": 1e-6,
    "a million times too small": 1e6,
    "100 times too large": 1e-2,
    "100 times too small": 1e2,
    "9.81 times too large (m/s2 instead of g)": 1.0 / 9.80665,
    "9.81 times too small (g instead of m/s2)": 9.80665,
    "57.3 times too large (degrees instead of radians)": math.pi / 180.0,
    "57.3 times too small (radians instead of degrees)": 180.0 / math.pi,
    "10 times too large": 0.1,
    "10 times too small": 10.0,
}


@dataclass(frozen=True, eq=False)
class Shape:
    """Feature by feature; means and spreads in scales of the task, from its centre."""

    names: tuple[str, ...]
    truncated: Matrix  # share of values beyond R
    far: Matrix  # share of values that no person has
    constant: Flags
    mean: Matrix
    spread: Matrix


def shape(task: Task, X: Matrix) -> Shape:
    """Of some records."""
    centre = np.array(task.features.centre)
    scale = np.array(task.features.scale)
    R = task.clip.truncate
    with np.errstate(over="ignore", invalid="ignore"):
        Z = np.abs((X - centre) / scale)
        mean = (X.mean(axis=0) - centre) / scale
        spread = X.std(axis=0) / scale
    return Shape(
        names=task.features.names,
        truncated=(Z > R).mean(axis=0),
        far=(max(FAR_SCALES, FAR_TRUNCATIONS * R) < Z).mean(axis=0),
        constant=(X[0] == X).all(axis=0),
        mean=mean,
        spread=spread,
    )


def units(task: Task, X: Matrix, seen: Shape) -> dict[str, list[str]]:
    """Features that would fit in another unit: which factor, and which of them."""
    away = (seen.truncated > HALF) | (np.abs(seen.mean) > _AWAY)
    shrunk = (seen.spread < _SHRUNK) & ~seen.constant
    found: dict[str, list[str]] = {}
    for j in np.flatnonzero(away | shrunk).tolist():
        factor = next((said for said, by in FACTORS.items() if _fits(task, X[:, j], by, j)), "")
        if factor:
            found.setdefault(factor, []).append(seen.names[j])
    # A person may be off by a small factor in a feature or two; a sensor is in all of its own.
    return {
        factor: names
        for factor, names in found.items()
        if _is_large(FACTORS[factor]) or len(names) >= _SENSOR_SHARE * task.p
    }


def _is_large(by: float) -> bool:
    return max(by, 1.0 / by) >= 100.0


def _fits(task: Task, values: Matrix, by: float, j: int) -> bool:
    # By a small factor whatever is too large can be brought near: then it must spread as expected.
    narrow = 0.05 if _is_large(by) else 0.3
    with np.errstate(over="ignore", invalid="ignore"):
        z = (values * by - task.features.centre[j]) / task.features.scale[j]
        spread = z.std()
    inside = (np.abs(z) > task.clip.truncate).mean() < 0.05
    return bool(inside and abs(z.mean()) < 2.0 and narrow < spread < 4.0)


def exchanged(task: Task, seen: Shape, *, suspicious: bool) -> list[tuple[str, str]]:
    """Pairs of features of which each fits in the other's place, and neither in its own.

    One is enough if something else is `suspicious`.
    """
    order = np.argsort(-np.abs(seen.mean), kind="stable")[:_MOST_CANDIDATES].tolist()
    away = [j for j in order if abs(seen.mean[j]) >= _EXCHANGED_SCALES]
    pairs = [(j, k) for a, j in enumerate(away) for k in away[:a] if _swap(task, seen, j, k)]
    pairs.sort(key=lambda pair: -_alike(seen.names[pair[0]], seen.names[pair[1]]))
    taken: set[int] = set()
    chosen = []
    for j, k in pairs:
        if not {j, k} & taken:
            taken |= {j, k}
            chosen.append((min(j, k), max(j, k)))
    sure = any(np.abs(seen.mean[list(pair)]).min() >= _FOR_SURE_SCALES for pair in chosen)
    many = len(chosen) >= _FEWEST_PAIRS or task.p <= _FEW_FEATURES
    if not (sure or many or suspicious):
        return []
    return sorted((seen.names[j], seen.names[k]) for j, k in chosen)


def _swap(task: Task, seen: Shape, j: int, k: int) -> bool:
    centre = task.features.centre
    scale = task.features.scale
    first = centre[j] + seen.mean[j] * scale[j]
    second = centre[k] + seen.mean[k] * scale[k]
    return bool(
        abs(second - centre[j]) <= _BETTER * abs(first - centre[j])
        and abs(first - centre[k]) <= _BETTER * abs(second - centre[k])
    )


def _alike(one: str, other: str) -> float:
    """Axes of a sensor have names that differ in a letter."""
    return difflib.SequenceMatcher(None, one, other).ratio()
