"""The constants of a task with a public map, once ridge, size, clip and split are chosen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fsir.arrays import Integers, Matrix
from fsir.limits import TASK_BYTES
from fsir.privacy.accounting import mu_of, split_scales
from fsir.proposal.discriminants import discriminant_map, slice_means
from fsir.proposal.standard import TRUNCATE, standard
from fsir.task.public_map import BYTES_PER_NUMBER, pack

MOST_COORDINATES = 150  # of one report
MOST_OVER_ROUNDS = 300  # whose reports have four times as many second moments: some 90 kB
# More coordinates see more of how people differ, and every one of them adds to the noise of all:
# so many that the noise of a slice mean has a quarter of the variance within slices.
TOLERATED_VARIANCE = 0.25
_MAP_SHARE = 0.75  # of the bytes of a task
# Of the clip: what tells whether the public rule is right. It adds 2% to the noise of everything
# else, and tells how often strangers are named rightly to within a point or two.
_CHECK_SHARE = 0.2
_FARTHEST_CENTRES = 100.0  # clips between two centres in one coordinate, for a check


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """What whoever makes a task expects of the devices, and what they may spend."""

    devices: int
    records: int  # of each device
    epsilon: float
    delta: float = 1e-6
    unit_records: int = 1
    cohort: int | None = None  # of how many at least two aggregators open sums
    rounds: int = 1  # whose worth `records` are (`fsir.proposal.rounds`)

    @property
    def noises(self) -> float:
        """How many times the full noise of a report the sum of all bears.

        Each device adds all of it; or a part, so that a cohort adds it once, and each of two
        aggregators once more for every cohort that they open.

        >>> Expectation(devices=20, records=300, epsilon=1.0).noises
        20
        >>> Expectation(devices=20, records=300, epsilon=1.0, cohort=20).noises
        3.0
        """
        if self.cohort is None:
            return self.devices
        return 2.0 * max(1, self.devices // self.cohort) + self.devices / self.cohort


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What a rehearsal can change its mind about."""

    coordinates: int
    clip_factor: float = 1.5  # C in units of the length that a record of the sample has
    split: float = 1.0  # between sums and second moment


def usual_choice(expected: Expectation, H: int, most: int) -> Choice:
    """As many coordinates as the noise lets use, and at least what the sample's classifier needs.

    >>> few = Expectation(devices=10, records=20, epsilon=1.0)
    >>> many = Expectation(devices=1000, records=500, epsilon=1.0)
    >>> usual_choice(few, 3, 60).coordinates, usual_choice(many, 3, 60).coordinates
    (2, 60)
    """
    usual = Choice(coordinates=1)
    mu = mu_of(expected.epsilon, expected.delta) / expected.unit_records
    sd = usual.clip_factor * split_scales(1.0, mu, usual.split)[0]
    per_slice = expected.records / H  # of one device
    devices = expected.devices**2 / expected.noises  # that would bear as little noise by their own
    affordable = TOLERATED_VARIANCE * devices * (per_slice / sd) ** 2
    return Choice(coordinates=int(min(max(affordable, H - 1), most)))


def most_coordinates(records: int, p: int, H: int, rounds: int = 1) -> int:
    """How many coordinates a sample can tell anything about, and task and reports can carry."""
    carried = int(_MAP_SHARE * TASK_BYTES / (BYTES_PER_NUMBER * p))
    reported = MOST_COORDINATES if rounds == 1 else MOST_OVER_ROUNDS
    return max(1, min(p, records - H, reported, carried))


@dataclass(frozen=True, eq=False)
class PublicSample:
    """Standardised public records, and the largest map that they give."""

    centre: Matrix
    scale: Matrix
    X: Matrix
    slices: Integers
    H: int
    map: Matrix

    @classmethod
    def of(cls, X: Matrix, slices: Integers, H: int, ridge: float, most: int) -> PublicSample:
        """From raw records in which every feature varies."""
        constants = standard(X)
        Z = constants.apply(X)
        P = discriminant_map(Z, slices, H, ridge, most)
        return cls(constants.centre, constants.scale, Z, slices, H, P)

    def sections(self, choice: Choice, *, numeric: bool = False) -> dict[str, Any]:
        """Tables of a task: everything that follows from the sample and the choice.

        Slices of a number are not named by a rule that could be checked, and where centres lie so
        far apart that a device could not compare them, there is nothing to find out.
        """
        q = min(choice.coordinates, self.map.shape[1])
        P = self.map[:, :q]
        centres = slice_means(self.X, self.slices, self.H) @ P
        shares = np.bincount(self.slices, minlength=self.H) / len(self.slices)
        norm = _short(choice.clip_factor * math.sqrt(q))
        check = {"check": _short(_CHECK_SHARE * norm)}
        if numeric or np.ptp(centres, axis=0).max() > _FARTHEST_CENTRES * norm:
            check = {}
        return {
            "features": {"centre": self.centre.tolist(), "scale": self.scale.tolist()},
            "clip": {"truncate": TRUNCATE, "norm": norm},
            "privacy": {"split": choice.split},
            "public": {
                "records": len(self.X),
                "coordinates": q,
                "map": pack(P),
                "centres": pack(centres),
                "shares": [round(float(share), 6) for share in shares],
                **check,
            },
        }


def _short(value: float) -> float:
    return float(f"{value:.4g}")
