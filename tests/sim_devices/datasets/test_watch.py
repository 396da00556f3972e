"""The watch data: read without running anything, and features that mean what their names say."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys

import numpy as np
import pytest

from sim_devices.datasets import DataError
from sim_devices.datasets import watch as module
from sim_devices.datasets.watch import (
    CENTRE,
    FEATURES,
    SCALE,
    STEP_SAMPLES,
    WINDOW_SAMPLES,
    watch,
    window_features,
)


@pytest.fixture(scope="module")
def population():
    return watch()


def test_ten_people_seven_exercises(population):
    assert [stream.device for stream in population.devices] == [
        f"person-{k:02d}" for k in range(1, 8)
    ]
    assert [stream.device for stream in population.unseen] == [
        f"person-{k:02d}" for k in range(8, 11)
    ]
    assert population.classes == ("PEN", "ABD", "FEL", "IR", "ER", "TRAP", "ROW")
    assert all(set(stream.y) == set(population.classes) for stream in population.everyone)
    assert all(len(stream) > 200 for stream in population.everyone)


def test_exercises_of_unseen_people_can_be_told_from_the_features(population):
    """Nearest class centre in public units:
    far above the chance of 1/7, so that the labels belong to the windows."""

    def pooled(streams):
        X = (np.vstack([stream.X for stream in streams]) - CENTRE) / SCALE
        return X, np.concatenate([stream.y for stream in streams])

    X, y = pooled(population.devices)
    centres = np.array([X[y == label].mean(axis=0) for label in population.classes])
    unseen, truth = pooled(population.unseen)
    nearest = ((unseen[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    assert (np.array(population.classes)[nearest] == truth).mean() > 0.6


def test_features_are_those_of_their_names():
    rng = np.random.default_rng(0)
    signal = rng.normal(size=(WINDOW_SAMPLES + 3 * STEP_SAMPLES + 5, 6))
    features = window_features(signal)
    assert features.shape == (4, len(FEATURES)) == (4, len(CENTRE)) == (4, len(SCALE))
    window = signal[2 * STEP_SAMPLES : 2 * STEP_SAMPLES + WINDOW_SAMPLES]
    length = np.linalg.norm(window[:, 3:], axis=1)
    by_hand = {
        "ax-mean": window[:, 0].mean(),
        "wz-std": window[:, 5].std(),
        "ay-min": window[:, 1].min(),
        "w-max": length.max(),
        "w-energy": (length**2).mean(),
        "az-change": np.abs(np.diff(window[:, 2])).mean(),
        "corr(wx,wz)": np.corrcoef(window[:, 3], window[:, 5])[0, 1],
    }
    assert {name: pytest.approx(features[2, FEATURES.index(name)]) for name in by_hand} == by_hand


def test_a_watch_that_lies_still_has_finite_features():
    features = window_features(np.tile([0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (WINDOW_SAMPLES, 1)))
    assert np.isfinite(features).all()
    assert features[0, FEATURES.index("a-mean")] == 1.0
    assert features[0, FEATURES.index("corr(ax,ay)")] == 0.0


def test_the_mirror_is_a_reflection():
    signal = np.random.default_rng(1).normal(size=(50, 6))
    mirrored = module._mirrored(signal, left=True)
    assert np.array_equal(module._mirrored(mirrored, left=True), signal)
    # A mirror turns the handedness: the product a . w, which no rotation changes, changes its sign.
    handedness = (signal[:, :3] * signal[:, 3:]).sum(axis=1)
    assert np.allclose((mirrored[:, :3] * mirrored[:, 3:]).sum(axis=1), -handedness)


class Harmful:
    def __reduce__(self):
        return print, ("a pickle that runs a function",)


def test_a_file_that_would_run_code_is_refused(tmp_path, capsys):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "|O", "fortran_order": False, "shape": ()})
    pickle.dump(Harmful(), file)
    (tmp_path / "bad.npy").write_bytes(file.getvalue())
    with pytest.raises(DataError, match=r"builtins.print.*do not use"):
        watch(tmp_path / "bad.npy")
    assert capsys.readouterr().out == ""
    with pytest.raises(DataError, match="no such file"):
        watch(tmp_path / "absent.npy")


def test_reading_imports_neither_the_package_nor_its_dependencies():
    code = (
        "import sys; from sim_devices.datasets.watch import watch; watch(); "
        "sys.exit(bool({'seglearn', 'sklearn', 'pandas', 'scipy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
