"""The worst neighbour of given data:
records on the clip, in every slice, in the directions that matter.

The law of each neighbour is known exactly, so that trying one costs a pass over the data. First
many replacements at a few places, then the best replacements at many places; the few that move the
law most get the full treatment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fsir.arrays import Matrix
from sim_devices.audit.bounds import exact
from sim_devices.audit.bounds.check import bound_of
from sim_devices.audit.bounds.laws import Certain, Law, same_noise
from sim_devices.audit.finding import Bound
from sim_devices.audit.pairs import Records

FINALISTS = 3
SEARCH_SAMPLES = 400_000
_PLACES = 4
_MORE_PLACES = 150  # beside one of each slice
_FAR = 3.0  # standard deviations


@dataclass(frozen=True, eq=False)
class Setting:
    """The public numbers of a search."""

    slices: int
    truncate: float
    norm: float
    unit: int = 1  # consecutive records that are replaced together

    def on_clip(self, x: Matrix) -> Matrix:
        """The record in this direction that reaches the clip;
        a zero has no direction and gets a corner."""
        x = x if np.any(x) else np.ones_like(x)
        scaled: Matrix = np.clip(x * (self.norm / np.linalg.norm(x)), -self.truncate, self.truncate)
        return scaled


@dataclass(frozen=True, eq=False)
class Replacement:
    """What a record becomes: `own` times its own direction plus a fixed one,
    on the clip unless `kept` as it is."""

    slice_: int
    fixed: Matrix | None = None
    own: float = 0.0
    kept: bool = False

    def of(self, x: Matrix, setting: Setting) -> Matrix:
        """The new record in the place of `x`."""
        if self.kept:
            return x
        return setting.on_clip(self.own * x if self.fixed is None else self.fixed)


def search(
    law: Callable[[Records], Law],
    records: Records,
    setting: Setting,
    epsilon: float,
    delta: float,
    samples: int = SEARCH_SAMPLES,
    seed: int | None = None,
) -> tuple[Bound, Records]:
    """The sharpest bound over the neighbours tried, and the neighbour that gave it.

    A seed is for repeating an answer; without it the draws are new.
    """
    rng = np.random.default_rng(seed)
    here = law(records)
    tried: list[tuple[float, int, Replacement]] = []

    def attempt(places: list[int], replacements: list[Replacement]) -> None:
        for place in places:
            for replacement in replacements:
                there = law(neighbour(records, place, replacement, setting))
                tried.append((moved(here, there), place, replacement))
        tried.sort(key=lambda entry: -entry[0])

    attempt(_places(records, setting, _PLACES, rng), replacements(records, setting, rng))
    best = list(dict.fromkeys(replacement for _, _, replacement in tried))[:FINALISTS]
    attempt(_places(records, setting, _MORE_PLACES, rng), best)
    finalists = [
        neighbour(records, place, replacement, setting)
        for _, place, replacement in tried[:FINALISTS]
    ]
    # A short look at each, and a long one, with fresh draws, at the best.
    looks = [
        bound_of(here, law(other), epsilon, delta, samples // 8, _new_seed(rng))
        for other in finalists
    ]
    worst = finalists[max(range(len(looks)), key=lambda k: looks[k].epsilon)]
    return bound_of(here, law(worst), epsilon, delta, samples, _new_seed(rng)), worst


def _new_seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**63))


def moved(first: Law, second: Law) -> float:
    """How far apart two laws are, to rank neighbours:
    about the privacy loss that one draw in a thousand exceeds."""
    if isinstance(first, Certain) or isinstance(second, Certain):
        return float(first != second)
    if same_noise(first, second):
        mu = exact.distance(first, second)
        return mu * mu / 2.0 + _FAR * mu
    losses = first.loss(second), second.loss(first)
    return max(mean + _FAR * sd for mean, sd in losses)


def neighbour(records: Records, place: int, replacement: Replacement, setting: Setting) -> Records:
    """The data with one unit of records replaced."""
    X = records.X.copy()
    slices = records.slices.copy()
    for index in range(place, place + setting.unit):
        X[index] = replacement.of(X[index], setting)
        slices[index] = replacement.slice_
    return Records(X, slices)


def replacements(records: Records, setting: Setting, rng: np.random.Generator) -> list[Replacement]:
    """Another label, the opposite, the same and longer;
    singular vectors of the slice means, corners; in each slice."""
    M = np.stack(
        [records.X[records.slices == h].sum(axis=0) for h in range(setting.slices)], axis=1
    )
    W = np.linalg.svd(M, full_matrices=False)[0][:, :3].T
    corners = [np.sign(w) + (w == 0) for w in W]
    random_corners = list(rng.choice([-1.0, 1.0], (2, M.shape[0])))
    tried = []
    for h in range(setting.slices):
        tried += [Replacement(h, kept=True), Replacement(h, own=-1.0), Replacement(h, own=1.0)]
        tried += [
            Replacement(h, fixed=sign * v)
            for v in [*W, *corners, *random_corners]
            for sign in (1.0, -1.0)
        ]
    return tried


def _places(records: Records, setting: Setting, count: int, rng: np.random.Generator) -> list[int]:
    """The longest records, one of each slice, and some by chance."""
    last = len(records.X) - setting.unit + 1
    norms = np.linalg.norm(np.clip(records.X[:last], -setting.truncate, setting.truncate), axis=1)
    longest = np.argsort(-norms, kind="stable")[: count // 2].tolist()
    one_of_each = np.unique(records.slices[:last], return_index=True)[1].tolist()
    drawn = rng.choice(last, min(last, count - count // 2), replace=False).tolist()
    return sorted({*longest, *one_of_each, *drawn})
