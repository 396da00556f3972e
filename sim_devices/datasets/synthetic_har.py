"""Invented people with a phone at the waist:
50 Hz signals of six activities, then the agent's own features.

How they move is told in `synthetic_motion`. A stream is a day in short bouts: every run through the
six activities is a new order of them. Figures obtained with it say that the machinery works, not
how well real people can be told apart.
"""

from __future__ import annotations

import numpy as np

from edge_agent.signal.features import FEATURE_NAMES, features, scale
from edge_agent.signal.grid import HOP, WINDOW
from edge_agent.signal.separation import separate
from fsir.arrays import Matrix
from sim_devices.datasets.population import (
    ACTIVITIES,
    DataError,
    DeviceStream,
    Population,
    with_levels,
)
from sim_devices.datasets.synthetic_motion import Person, Rng, bout, draw_person

LONGEST_BOUT_WINDOWS = 10
CAVEATS = (
    "invented people: the figures show that the machinery works, not how well real people can be "
    "told apart",
)


def synthetic_har(
    people: int = 30,
    windows: int = 300,
    seed: int = 0,
    *,
    unseen: int | None = None,
    levels: bool = True,
    names: tuple[str, ...] = FEATURE_NAMES,
) -> Population:
    """`people` invented persons with `windows` records each;
    the last `unseen` of them (three in ten) take no part.

    levels: active / sedentary / lying instead of the six activities. names: the features wanted.
    Person k of a seed is the same however many people there are.
    """
    unseen = max(people * 3 // 10, 1) if unseen is None else unseen
    if not 1 <= unseen < people or windows < len(ACTIVITIES):
        least = f"at least one device, one unseen person and {len(ACTIVITIES)} windows"
        raise DataError(
            f"{people} people, {unseen} of them unseen, {windows} windows: there must be {least}"
        )
    if strange := sorted(set(names) - set(FEATURE_NAMES)):
        raise DataError(
            f"{strange[:3]} are not among the {len(FEATURE_NAMES)} features of this pipeline"
        )
    columns = [FEATURE_NAMES.index(name) for name in names]
    streams = tuple(
        _stream(k, windows, np.random.default_rng([seed, k]), columns) for k in range(1, people + 1)
    )
    population = Population(
        name="synthetic-har",
        features=names,
        classes=ACTIVITIES,
        devices=streams[: people - unseen],
        unseen=streams[people - unseen :],
        caveats=CAVEATS,
    )
    return with_levels(population) if levels else population


def _stream(number: int, windows: int, rng: Rng, columns: list[int]) -> DeviceStream:
    return recorded(f"person-{number:02d}", draw_person(rng), windows, rng, columns)


def recorded(name: str, person: Person, windows: int, rng: Rng, columns: list[int]) -> DeviceStream:
    """So many records of one person, with these features."""
    longest = min(LONGEST_BOUT_WINDOWS, windows // len(ACTIVITIES))
    pieces: list[Matrix] = []
    labels: list[str] = []
    while len(labels) < windows:
        for activity in rng.permutation(ACTIVITIES).tolist():
            length = int(rng.integers((longest + 1) // 2, longest + 1))
            acc, gyro = bout(person, activity, HOP * (length + 1), rng)
            pieces.append(separate(_windows(acc), _windows(gyro)))
            labels += [activity] * length
    X = scale(features(np.concatenate(pieces)[:windows]))[:, columns]
    return DeviceStream(name, X, np.array(labels[:windows]))


def _windows(signal: Matrix) -> Matrix:
    """Half-overlapping windows: m x 128 x 3."""
    view = np.lib.stride_tricks.sliding_window_view(signal, WINDOW, axis=0)
    return np.ascontiguousarray(np.swapaxes(view[::HOP], -1, -2))
