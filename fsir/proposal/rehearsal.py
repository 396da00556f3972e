"""A federation played on the people of a public sample, noise included, to see what does better.

They take the roles in turn: some are the public sample, some are what devices have, some are who is
asked afterwards. Devices draw their records with replacement, as many as are expected, and the
noise is that of as many devices. What it shows must be plain before it changes anything. Where a
sample is of one person, or does not say whose records are whose, there is nobody to play strangers:
blocks of the same person's records are far too alike, and choosing by them was worse than not
choosing (docs/estimate.md); they only tell how good the sample is about itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fsir.arrays import Flags, Integers, Matrix
from fsir.contract import task_from_table
from fsir.estimate.projection import Projector
from fsir.estimate.subspace import estimate
from fsir.estimate.totals import Totals
from fsir.privacy.moments import Moments
from fsir.privacy.noise import Noise
from fsir.privacy.plan import first_stage
from fsir.privacy.release import release
from fsir.proposal.constants import Choice, Expectation, PublicSample
from fsir.task.task import Task

DRAWS = 2  # of records and noise, for each assignment of roles
_SEED = 20130625
_MOST_DRAWN = 4000  # records that stand for all those of the devices
_FEWEST_PARTS = 3
_PLAIN_SIGMAS = 2.0
_PLAIN_GAIN = 0.005  # of accuracy

Progress = Callable[[int, int], None]


class FleetNoise(Noise):
    """Of a whole fleet at once, on records that stand for `copies` as many; protects nobody."""

    def __init__(self, noises: float, copies: int, rng: np.random.Generator) -> None:
        self._root = noises**0.5
        self._copies = copies
        self._rng = rng

    def normals(self, count: int) -> Matrix:
        """Independent standard normals."""
        return self._rng.standard_normal(count)

    def perturb(self, values: Matrix, sd: float, step: int) -> Integers:
        """The sums of all devices, with all of their noise."""
        return super().perturb(values * self._copies, sd * self._root, step)


@dataclass(frozen=True, eq=False)
class Rehearsed:
    """Accuracies, one for each assignment of roles and draw, in the same order for all."""

    alone: Matrix  # by the public part alone
    by_choice: dict[Choice, Matrix]


@dataclass(frozen=True, eq=False)
class _Roles:
    public: Flags
    devices: Flags
    asked: Flags


def can_rehearse(slices: Integers, H: int, parts: Integers) -> bool:
    """Whether every assignment of roles leaves records of each slice."""
    return len(np.unique(parts)) >= _FEWEST_PARTS and all(
        len(np.unique(slices[roles.public])) == H for roles in _assignments(parts)
    )


def rehearse(
    X: Matrix,
    slices: Integers,
    parts: Integers,
    ridge: float,
    expected: Expectation,
    choices: Sequence[Choice],
    progress: Progress | None = None,
) -> Rehearsed:
    """Play the federation under each choice, with the same roles and records for all."""
    H = int(slices.max()) + 1
    most = max(choice.coordinates for choice in choices)
    alone: list[float] = []
    scores: dict[Choice, list[float]] = {choice: [] for choice in choices}
    assignments = list(_assignments(parts))
    done = 0
    for roles in assignments:
        sample = PublicSample.of(X[roles.public], slices[roles.public], H, ridge, most)
        for choice in choices:
            play = _Play(X, slices, roles, _task(sample, choice, expected), expected)
            scores[choice] += [play.score(draw) for draw in range(DRAWS)]
            done += 1
            if progress is not None:
                progress(done, len(assignments) * len(choices))
        alone += [play.score(None)] * DRAWS
    return Rehearsed(np.array(alone), {choice: np.array(found) for choice, found in scores.items()})


def held_out_accuracy(
    X: Matrix, slices: Integers, parts: Integers, ridge: float, expected: Expectation
) -> float:
    """How often the sample is right about parts of itself that it has not seen."""
    H = int(slices.max()) + 1
    usual = Choice(coordinates=max(H - 1, 1))  # all that its own classifier needs
    right = []
    for name in np.unique(parts):
        asked = parts == name
        sample = PublicSample.of(X[~asked], slices[~asked], H, ridge, usual.coordinates)
        roles = _Roles(~asked, asked, asked)
        play = _Play(X, slices, roles, _task(sample, usual, expected), expected)
        right.append(play.score(None) * asked.sum())
    return float(sum(right)) / len(X)


def best(rehearsed: Rehearsed, usual: Choice) -> Choice:
    """The choice that did best, if that is plain; else the usual one."""

    def plain_gain(choice: Choice) -> float:
        gain = rehearsed.by_choice[choice] - rehearsed.by_choice[usual]
        error = float(gain.std(ddof=1)) / len(gain) ** 0.5
        return float(gain.mean() - max(_PLAIN_SIGMAS * error, _PLAIN_GAIN))

    foremost = max(rehearsed.by_choice, key=plain_gain)
    return foremost if plain_gain(foremost) > 0.0 else usual


def _assignments(parts: Integers) -> Iterator[_Roles]:
    """One part is asked, of the others nearly half play the devices, the rest the sample."""
    names = np.unique(parts)
    playing = (len(names) - 1) // 2
    for k, name in enumerate(names):
        asked = parts == name
        devices = np.isin(parts, np.roll(names, -k - 1)[:playing])
        yield _Roles(~devices & ~asked, devices, asked)


def _task(sample: PublicSample, choice: Choice, expected: Expectation) -> Task:
    sections: dict[str, Any] = sample.sections(choice)
    features = {"names": [f"x{j}" for j in range(len(sample.centre))], **sections["features"]}
    privacy = {
        "epsilon": expected.epsilon,
        "delta": expected.delta,
        "unit_records": expected.unit_records,
        **sections["privacy"],
    }
    # Intervals of a number are rehearsed as classes: who tells them apart knows the directions.
    return task_from_table(
        {
            **sections,
            "name": "rehearsal",
            "features": features,
            "privacy": privacy,
            "response": {"classes": [str(h) for h in range(sample.H)]},
            "report": {"records": expected.records},
        }
    )


class _Play:
    """One assignment of roles under one task."""

    def __init__(
        self, X: Matrix, slices: Integers, roles: _Roles, task: Task, expected: Expectation
    ) -> None:
        self._task = task
        self._devices = (X[roles.devices], slices[roles.devices])
        self._asked = (X[roles.asked], slices[roles.asked])
        self._expected = expected

    def score(self, draw: int | None) -> float:
        """The share of records that are named rightly; without a draw nobody reports."""
        totals = Totals(first_stage(self._task))
        if draw is not None:
            self._report(totals, np.random.default_rng((_SEED, draw)))
        X, slices = self._asked
        named, _ = Projector(self._task, estimate(self._task, totals)).classify(X)
        return float(np.mean(np.array(named, dtype=np.int64) == slices))

    def _report(self, totals: Totals, rng: np.random.Generator) -> None:
        X, slices = self._devices
        records = self._expected.devices * self._expected.records
        copies = -(-records // _MOST_DRAWN)
        rows = rng.integers(0, len(X), records // copies)
        moments = Moments(self._task, totals.stage)
        moments.learn_many(X[rows], slices[rows].astype(str))
        totals.add(release(moments, FleetNoise(self._expected.noises, copies, rng)))
        totals.n = len(rows) * copies
        totals.devices = self._expected.devices
        totals.noise = self._expected.noises
