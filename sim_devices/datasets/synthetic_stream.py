"""One invented person: the 50 Hz signal of a day, and the agent's own features of it.

A stream is a day in short bouts: every run through the six activities is a new order of them.
"""

from __future__ import annotations

import numpy as np

from edge_agent.signal.features import features, scale
from edge_agent.signal.grid import HOP
from edge_agent.signal.separation import separate
from fsir.arrays import Matrix
from sim_devices.datasets.population import ACTIVITIES, DeviceStream
from sim_devices.datasets.synthetic_motion import Person, Rng, bout, draw_person

LONGEST_BOUT_WINDOWS = 10


def name_of(number: int) -> str:
    """What person `number` is called."""
    return f"person-{number:02d}"


def stream(number: int, windows: int, seed: int, columns: list[int]) -> DeviceStream:
    """Person `number` of a seed: the same whoever else is invented, and where."""
    rng = np.random.default_rng([seed, number])
    return recorded(name_of(number), draw_person(rng), windows, rng, columns)


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
    halves = signal.reshape(-1, HOP, signal.shape[1])
    return np.concatenate([halves[:-1], halves[1:]], axis=1)
