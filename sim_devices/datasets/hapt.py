"""HAPT: the continuous 50 Hz recordings behind the UCI set,
through the agent's own pipeline, sample by sample.

J. L. Reyes-Ortiz, L. Oneto, A. Samà, X. Parra, D. Anguita, "Transition-Aware Human Activity
Recognition Using Smartphones", Neurocomputing 2016: 30 people, a phone at the waist, two recordings
each, with postural transitions and unlabelled stretches. The file is `hapt_raw.npz`: acc (g), gyro
(rad/s), experiment, user, activity (0 = unlabelled, 1..6 the six activities, 7..12 transitions),
one row per sample. The recordings carry no time of day: here they are laid out one after the other
on an invented day, two minutes apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from edge_agent.signal.features import FEATURE_NAMES, features, scale
from edge_agent.signal.grid import HOP, RATE, WINDOW
from edge_agent.signal.windows import Windower
from fsir.arrays import Integers, Matrix
from sim_devices.datasets.population import (
    ACTIVITIES,
    DataError,
    DeviceStream,
    Population,
    with_levels,
)

NPZ = "hapt_raw.npz"
# The nine test subjects of UCI HAR, which has the same people.
UNSEEN = (2, 4, 9, 10, 12, 13, 18, 20, 24)
# The first window of the invented day, and the pause between two recordings in windows.
FIRST_WINDOW = 1_328_125_000
PAUSE_WINDOWS = 94

CAVEATS = (
    "same people as UCI HAR: not an independent test of what was tuned there",
    "recordings follow one script, postures before walking: a device that reports early has not "
    "seen every activity",
    "whether a feature is mapped linearly or by decades was decided with these recordings at "
    "hand; its range was not",
)


@dataclass(frozen=True, kw_only=True)
class Recordings:
    """All samples, one row each."""

    acc: Matrix
    gyro: Matrix
    experiment: Integers
    user: Integers
    activity: Integers


def hapt(path: str | Path, levels: bool = True, margin: int = 0) -> Population:
    """The recordings found at `path` (the npz,
    or a folder with it) as one stream of scaled features per person.

    levels: active / sedentary / lying instead of the six activities. margin: see
    `edge_agent.signal.windows`.
    """
    recordings = read_recordings(Path(path))
    lost: Counter[str] = Counter()
    streams = {
        int(user): stream_of(recordings, int(user), margin, lost)
        for user in np.unique(recordings.user)
    }
    devices = tuple(stream for user, stream in streams.items() if user not in UNSEEN)
    unseen = tuple(stream for user, stream in streams.items() if user in UNSEEN)
    dropped = ", ".join(f"{count} {reason}" for reason, count in sorted(lost.items()))
    population = Population(
        name="hapt",
        features=FEATURE_NAMES,
        classes=ACTIVITIES,
        devices=devices,
        unseen=unseen,
        caveats=(*CAVEATS, f"windows left out: {dropped}"),
    )
    return with_levels(population) if levels else population


def read_recordings(path: Path) -> Recordings:
    """The recordings found at `path`, checked to fit together."""
    places = [path] if path.suffix == ".npz" else [path / NPZ, path / "hapt" / NPZ]
    place = next((place for place in places if place.is_file()), None)
    if place is None:
        raise DataError(
            f"{path}: there is no {NPZ} here: give --data the folder where the recordings are"
        )
    with np.load(place) as stored:
        missing = {"acc", "gyro", "experiment", "user", "activity"} - set(stored.files)
        if missing:
            raise DataError(
                f"{place}: {', '.join(sorted(missing))} missing: this is not the file of the "
                "recordings"
            )
        recordings = Recordings(
            acc=stored["acc"].astype(np.float64),
            gyro=stored["gyro"].astype(np.float64),
            experiment=stored["experiment"].astype(np.int64),
            user=stored["user"].astype(np.int64),
            activity=stored["activity"].astype(np.int64),
        )
    acc = recordings.acc.shape
    gyro = recordings.gyro.shape
    count = len(recordings.user)
    if acc != (count, 3) or gyro != acc:
        raise DataError(f"{place}: acc {acc}, gyro {gyro}, {count} rows don't fit together")
    return recordings


def stream_of(recordings: Recordings, user: int, margin: int, lost: Counter[str]) -> DeviceStream:
    """One person's windows in the order of recording;
    those without one clear activity are left out and counted."""
    signals = []
    labels = []
    for first, rows in _layout(recordings, user):
        windower = Windower(margin)
        positions = first * HOP + np.arange(len(rows)) + 0.5
        for window in windower.push(positions / RATE, recordings.acc[rows], recordings.gyro[rows]):
            low = (window.index - first) * HOP
            activity = recordings.activity[rows[low : low + WINDOW]]
            if window.fault:
                continue  # counted among those dropped
            if (activity == 0).any():
                lost["unlabelled"] += 1
            elif (activity > len(ACTIVITIES)).any():
                lost["in transition"] += 1
            else:
                signals.append(window.signals)
                labels.append(ACTIVITIES[np.bincount(activity).argmax() - 1])
        lost.update(windower.dropped)
    if not signals:
        raise DataError(
            f"subject {user}: no window of {WINDOW} samples has one of the activities {ACTIVITIES}"
        )
    X = scale(features(np.stack(signals)))
    return DeviceStream(f"subject-{user:02d}", X, np.array(labels))


def _layout(recordings: Recordings, user: int) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """The recordings of one person: the window of the invented
    day in which each begins, and its rows."""
    first = FIRST_WINDOW
    for experiment in np.unique(recordings.experiment[recordings.user == user]):
        rows = np.flatnonzero((recordings.experiment == experiment) & (recordings.user == user))
        yield first, rows
        first += -(-len(rows) // HOP) + PAUSE_WINDOWS
