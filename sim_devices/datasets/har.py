"""UCI Human Activity Recognition Using Smartphones:
30 people with a phone at the waist, 561 features per window.

D. Anguita, A. Ghio, L. Oneto, X. Parra, J. L. Reyes-Ortiz, "A Public Domain Dataset for Human
Activity Recognition Using Smartphones", ESANN 2013. The set asks to be cited and its README forbids
commercial use, so it is not shipped: `fsir-sim fetch har` downloads it. Its 21 training subjects
are the devices, its 9 test subjects the unseen people.
"""

from __future__ import annotations

import io
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from fsir.arrays import Flags, Integers, Matrix
from sim_devices.datasets.population import (
    ACTIVITIES,
    DataError,
    DeviceStream,
    Population,
    with_levels,
)

FOLDER = "UCI HAR Dataset"
NPZ = "har_full561.npz"
WINDOWS_TRAIN = 7352
WINDOWS_TEST = 2947
FEATURES = 561

CAVEATS = (
    "the published features were scaled to [-1, 1] by their authors over all subjects, the "
    "unseen ones included",
    "windows overlap by half: one instant lies in two records, so a unit of one record protects "
    "half a window",
    "recordings are ordered by activity: a device that reports early has not seen all of them",
)
LEVELS_CAVEAT = "three levels are an easy task: two features chosen by name reach 99.8% as well"


@dataclass(frozen=True, kw_only=True)
class Windows:
    """All windows of the set, in recorded order:
    features, activity 1..6, subject 1..30, and who was for training."""

    names: tuple[str, ...]
    X: Matrix
    activity: Integers
    subject: Integers
    training: Flags


def har(path: str | Path, levels: bool = True) -> Population:
    """The set found at `path`: the archive as downloaded (zip) or unpacked, the npz of the same
    data, or a folder with one of them. `levels`: active / sedentary / lying instead of the six
    activities."""
    windows = read_windows(Path(path))

    labels = np.array(ACTIVITIES)[windows.activity - 1]

    def stream(subject: int) -> DeviceStream:
        rows = windows.subject == subject
        return DeviceStream(f"subject-{subject:02d}", windows.X[rows], labels[rows])

    def streams(chosen: Flags) -> tuple[DeviceStream, ...]:
        return tuple(stream(subject) for subject in np.unique(windows.subject[chosen]))

    population = Population(
        name="har",
        features=unique_names(windows.names),
        classes=ACTIVITIES,
        devices=streams(windows.training),
        unseen=streams(~windows.training),
        caveats=(*CAVEATS, LEVELS_CAVEAT) if levels else CAVEATS,
    )
    return with_levels(population) if levels else population


def read_windows(path: Path) -> Windows:
    """The windows found at `path`, checked to fit together. See `har` for what `path` may be."""
    windows = _read(path)
    count = len(windows.X)
    parts = (len(windows.activity), len(windows.subject))
    if windows.X.shape != (count, len(windows.names)) or parts != (count, count):
        raise DataError(
            f"{path}: {windows.X.shape} features, {len(windows.names)} names, "
            f"{parts[0]} labels and {parts[1]} subjects do not fit together: "
            "the copy is damaged, fetch it again"
        )
    if not np.isin(windows.activity, np.arange(1, 7)).all():
        raise DataError(
            f"{path}: activities {np.unique(windows.activity)} are not all among 1..6: fetch the "
            "set again"
        )
    both = np.intersect1d(windows.subject[windows.training], windows.subject[~windows.training])
    if both.size:
        raise DataError(
            f"{path}: subjects {both} are in the training and in the test part: fetch the set again"
        )
    return windows


def _read(path: Path) -> Windows:
    if path.suffix == ".npz":
        return _from_npz(path)
    return _from_folder(path) if path.is_dir() else _from_zip(path)


def unique_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Feature names without twins. The set lists 42 names of band energies three times, once per
    axis in order, and leaves the axis out: it comes back as -X, -Y, -Z."""
    times = Counter(names)
    seen = Counter[str]()
    unique = []
    for name in names:
        unique.append(f"{name}-{'XYZ'[seen[name]]}" if times[name] == 3 else name)
        seen[name] += 1
    return tuple(unique)


def _from_folder(path: Path) -> Windows:
    for folder in (path, path / FOLDER):
        if (folder / "train" / "X_train.txt").is_file():
            return _from_text(_opener(folder), str(folder))
    for npz in (path / NPZ, path / "uci_har" / NPZ):
        if npz.is_file():
            return _from_npz(npz)
    for archive in sorted(path.glob("*.zip")):
        if "har" in archive.name.lower() or "activity" in archive.name.lower():
            return _from_zip(archive)
    raise DataError(
        f"{path}: neither '{FOLDER}/train/X_train.txt' nor '{NPZ}' nor the archive is in this "
        "folder. Run `fsir-sim fetch har`, or give --data the folder where the set is"
    )


def _opener(folder: Path) -> Callable[[str], IO[bytes]]:
    return lambda name: (folder / name).open("rb")


def _from_zip(path: Path) -> Windows:
    try:
        with zipfile.ZipFile(path) as outer:
            inner = next(
                (name for name in outer.namelist() if name.endswith(f"{FOLDER}.zip")), None
            )
            # The repository serves an archive that holds the authors' own archive.
            with zipfile.ZipFile(io.BytesIO(outer.read(inner))) if inner else outer as archive:
                places = [name for name in archive.namelist() if name.endswith("train/X_train.txt")]
                places = [name for name in places if not name.startswith("__MACOSX")]
                if not places:
                    raise DataError(
                        f"{path}: the archive has no 'train/X_train.txt': it is not the UCI HAR set"
                    )
                prefix = places[0].removesuffix("train/X_train.txt")
                return _from_text(lambda name: archive.open(prefix + name), str(path))
    except FileNotFoundError:
        raise DataError(
            f"{path}: no such file. Run `fsir-sim fetch har`, or give --data another place"
        ) from None
    except zipfile.BadZipFile as error:
        raise DataError(
            f"{path}: not a zip archive, or a damaged one ({error}): fetch it again"
        ) from error


def _from_text(opener: Callable[[str], IO[bytes]], where: str) -> Windows:
    """The official layout: one text file for the features, labels and subjects of each part."""

    def table(name: str, kind: type[Any], columns: Literal[1, 2]) -> NDArray[Any]:
        try:
            with opener(name) as file:
                return np.asarray(np.loadtxt(file, dtype=kind, ndmin=columns))
        except (KeyError, FileNotFoundError):
            raise DataError(
                f"{where}: '{name}' is missing: the copy is incomplete, fetch it again"
            ) from None
        except ValueError as error:
            raise DataError(
                f"{where}: '{name}' cannot be read ({error}): the copy is damaged, fetch it again"
            ) from error

    parts = ("train", "test")
    X = [table(f"{part}/X_{part}.txt", np.float64, 2) for part in parts]
    activity = [table(f"{part}/y_{part}.txt", np.int64, 1) for part in parts]
    subject = [table(f"{part}/subject_{part}.txt", np.int64, 1) for part in parts]
    names = table("features.txt", np.str_, 2)
    if len({part.shape[1] for part in X}) > 1 or names.shape[1:] != (2,):
        raise DataError(
            f"{where}: the tables of the parts have different widths: "
            "the copy is damaged, fetch it again"
        )
    return Windows(
        names=tuple(names[:, 1].tolist()),
        X=np.vstack(X),
        activity=np.concatenate(activity),
        subject=np.concatenate(subject),
        training=np.repeat([True, False], [len(part) for part in X]),
    )


def _from_npz(path: Path) -> Windows:
    if not path.is_file():
        raise DataError(
            f"{path}: no such file. Run `fsir-sim fetch har`, or give --data another place"
        )
    with np.load(path) as stored:
        return Windows(
            names=tuple(stored["feature_names"].tolist()),
            X=as_printed(stored["X"]),
            activity=stored["y"].astype(np.int64),
            subject=stored["subject"].astype(np.int64),
            training=stored["is_train"].astype(np.bool_),
        )


def as_printed(X: NDArray[np.float32]) -> Matrix:
    """The numbers as the official text files print them, with 8 significant digits, so that both
    sources give the same bits: an integer over a power of ten up to 10^22 is rounded correctly,
    just as text is when it is read. Exact from 1e-15 on (the smallest number of the set is
    3e-8)."""
    values = X.astype(np.float64)
    exponent = np.floor(np.log10(np.abs(values), where=values != 0, out=np.zeros_like(values)))
    power = (10.0 ** np.arange(23))[np.clip(7 - exponent, 0, 22).astype(np.intp)]
    return np.asarray(np.rint(values * power) / power)
