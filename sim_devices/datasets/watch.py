"""Shoulder exercises with a smartwatch:
real sensor data that come with the package `seglearn`, no download needed.

D. Burns, N. Leung, M. Hardisty, C. Whyne, P. Henry, S. McLachlin, "Shoulder physiotherapy exercise
recognition: machine learning the inertial signals from a smartwatch", Physiological Measurement 39
(2018). The package carries the first ten of the study's twenty people; each did seven exercises
with either arm: acceleration (g) and rotation (rad/s) at 50 Hz.
"""

from __future__ import annotations

import importlib.util
import pickle
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from fsir.arrays import Matrix
from fsir.net.installed import how_to_install
from sim_devices.datasets.population import DataError, DeviceStream, Population

WINDOW_SAMPLES = 128
STEP_SAMPLES = 64  # 2.56 s at 50 Hz, half overlapping
UNSEEN = (8, 9, 10)

SIGNALS = ("ax", "ay", "az", "wx", "wy", "wz", "a", "w")  # a, w: lengths of the two vectors
STATISTICS = ("mean", "std", "min", "max", "energy", "change")
PAIRS = (("ax", "ay"), ("ax", "az"), ("ay", "az"), ("wx", "wy"), ("wx", "wz"), ("wy", "wz"))
FEATURES = (
    *(f"{s}-{kind}" for kind in STATISTICS for s in SIGNALS),
    *(f"corr({a},{b})" for a, b in PAIRS),
)

# Public centre and scale, from physics and not from the data: at rest a watch feels 1 g; an arm
# swings at a few rad/s.
CENTRE = np.array(
    [1.0 if name in ("a-mean", "a-min", "a-max", "a-energy") else 0.0 for name in FEATURES]
)
_UNITS = {
    "mean": (1, 1),
    "std": (0.5, 1),
    "min": (1, 2),
    "max": (1, 2),
    "energy": (1, 4),
    "change": (0.1, 0.2),
}
SCALE = np.array(
    [*(_UNITS[kind][s[0] == "w"] for kind in STATISTICS for s in SIGNALS), *(1 for _ in PAIRS)],
    dtype=float,
)

CAVEATS = (
    "ten people of one study: seven devices and three unseen people are few, figures move by "
    "points with the choice",
    "the order of the fourteen recordings of a person is not known; it is the order of the file",
    "windows overlap by half: one instant lies in two records",
    "recordings of the left arm are mirrored, which a watch can do because it knows its side",
)


def watch(path: Path | None = None) -> Population:
    """People 1 to 7 as devices, 8 to 10 unseen. `path`: another copy of watch_dataset.npy."""
    data = _read(path or _packaged())
    exercises = tuple(str(label) for label in data["y_labels"])

    def stream(person: int) -> DeviceStream:
        chosen = [index for index, subject in enumerate(data["subject"]) if subject == person]
        parts = [
            window_features(_mirrored(data["X"][index], data["side"][index] == 0))
            for index in chosen
        ]
        labels = [exercises[data["y"][index]] for index in chosen]
        y = np.repeat(np.array(labels), [len(part) for part in parts])
        return DeviceStream(f"person-{person:02d}", np.vstack(parts), y)

    people = sorted({int(subject) for subject in data["subject"]})
    return Population(
        name="watch",
        features=FEATURES,
        classes=exercises,
        devices=tuple(stream(person) for person in people if person not in UNSEEN),
        unseen=tuple(stream(person) for person in UNSEEN),
        caveats=CAVEATS,
    )


def window_features(signal: Matrix) -> Matrix:
    """Features of every window of a recording (time x 6 channels): one row per window."""
    lengths = [np.linalg.norm(signal[:, axes], axis=1) for axes in (slice(0, 3), slice(3, 6))]
    windows = sliding_window_view(np.column_stack([signal, *lengths]), WINDOW_SAMPLES, axis=0)[
        ::STEP_SAMPLES
    ]
    mean = windows.mean(axis=2)
    std = windows.std(axis=2)
    statistics = [mean, std, windows.min(axis=2), windows.max(axis=2), (windows**2).mean(axis=2)]
    statistics.append(np.abs(np.diff(windows, axis=2)).mean(axis=2))
    # A channel that stands still correlates with nothing.
    standard = (windows - mean[:, :, None]) / np.where(std > 0, std, 1.0)[:, :, None]
    pairs = [(SIGNALS.index(a), SIGNALS.index(b)) for a, b in PAIRS]
    statistics.append(
        np.column_stack([(standard[:, a] * standard[:, b]).mean(axis=1) for a, b in pairs])
    )
    return np.hstack(statistics)


def _mirrored(signal: Matrix, left: bool) -> Matrix:
    """The left wrist as a right one. A mirror across x turns a velocity's x,
    and a rotation's y and z."""
    return signal * np.array([-1.0, 1.0, 1.0, 1.0, -1.0, -1.0]) if left else signal


def _packaged() -> Path:
    # find_spec does not run the package, which would import scikit-learn and more for the sake of
    # one file.
    spec = importlib.util.find_spec("seglearn")
    if spec is None or spec.origin is None:
        raise DataError(
            f"the data set `watch` is part of the package seglearn: {how_to_install('sim')}"
        )
    return Path(spec.origin).parent / "data" / "watch_dataset.npy"


class _ArraysOnly(pickle.Unpickler):
    """The file is a pickled dictionary of arrays, there is no other way to read it. A pickle may
    name any function to run; this reader knows only those that rebuild an array, so that the file
    need not be trusted."""

    ALLOWED = frozenset({"_reconstruct", "ndarray", "dtype", "encode"})

    def find_class(self, module: str, name: str) -> Any:
        if name not in self.ALLOWED or module not in ("numpy", "numpy.core.multiarray", "_codecs"):
            raise DataError(
                f"the watch data name {module}.{name}, which is no part of an array: do not use "
                "this file"
            )
        # The old module name still loads, but warns.
        return super().find_class(module.replace("numpy.core", "numpy._core"), name)


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            return _unpickle(file, path)
    except FileNotFoundError:
        raise DataError(
            f"{path}: no such file: reinstall the package seglearn, or give another path"
        ) from None


def _unpickle(file: IO[bytes], path: Path) -> dict[str, Any]:
    if np.lib.format.read_magic(file) != (1, 0):
        raise DataError(f"{path}: not the npy file (version 1.0) that the package seglearn carries")
    np.lib.format.read_array_header_1_0(file)
    data = _ArraysOnly(file).load().item()
    if missing := {"X", "y", "subject", "side", "y_labels"} - set(data):
        raise DataError(
            f"{path}: the entries {sorted(missing)} are missing: reinstall the package seglearn"
        )
    return dict(data)
