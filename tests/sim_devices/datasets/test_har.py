"""UCI HAR: every form of the set gives the same population,
and a damaged copy is refused with a reason."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from sim_devices.datasets import (
    DataError,
    DeviceStream,
    Population,
    with_levels,
    with_shuffled_responses,
)
from sim_devices.datasets.har import as_printed, har, unique_names
from sim_devices.datasets.population import ACTIVITIES, LEVELS

NAMES = (
    "tBodyAcc-mean()-X",
    "bands()-1,8",
    "bands()-9,16",
    "bands()-1,8",
    "bands()-9,16",
    "bands()-1,8",
    "bands()-9,16",
)


@pytest.fixture
def layout(tmp_path: Path) -> Path:
    """The official layout in small: people 1 and 3 for training, 2 for test,
    seven features, float32 values."""
    rng = np.random.default_rng(5)
    root = tmp_path / "UCI HAR Dataset"
    people = {"train": [1] * 6 + [3] * 7, "test": [2] * 6}
    stored: dict[str, list[np.ndarray]] = {"X": [], "y": [], "subject": [], "is_train": []}
    for part, subject in people.items():
        (root / part).mkdir(parents=True)
        X = rng.uniform(-1, 1, (len(subject), len(NAMES))).astype(np.float32)
        y = np.arange(len(subject)) % 6 + 1
        np.savetxt(root / part / f"X_{part}.txt", X, fmt="%16.7e", delimiter="")
        np.savetxt(root / part / f"y_{part}.txt", y, fmt="%d")
        np.savetxt(root / part / f"subject_{part}.txt", subject, fmt="%d")
        for name, values in zip(
            stored, (X, y, np.array(subject), np.full(len(y), part == "train")), strict=True
        ):
            stored[name].append(values)
    (root / "features.txt").write_text(
        "".join(f"{j} {name}\n" for j, name in enumerate(NAMES, start=1))
    )
    arrays = {name: np.concatenate(values) for name, values in stored.items()}
    np.savez(tmp_path / "har_full561.npz", feature_names=np.array(NAMES), **arrays)
    return root


def zipped(root: Path, archive: Path) -> Path:
    with zipfile.ZipFile(archive, "w") as target:
        target.writestr(
            "__MACOSX/UCI HAR Dataset/train/X_train.txt", "rubbish that some archivers add"
        )
        for file in sorted(root.rglob("*.txt")):
            target.write(file, file.relative_to(root.parent))
    return archive


def nested(root: Path, archive: Path) -> Path:
    with zipfile.ZipFile(archive, "w") as target:
        target.write(zipped(root, root.parent / "inner.zip"), "UCI HAR Dataset.zip")
        target.writestr("UCI HAR Dataset.names", "about the set")
    return archive


def same(one: Population, other: Population) -> bool:
    return (one.features, one.classes, one.caveats) == (
        other.features,
        other.classes,
        other.caveats,
    ) and all(
        a.device == b.device and np.array_equal(a.X, b.X) and np.array_equal(a.y, b.y)
        for a, b in zip(one.everyone, other.everyone, strict=True)
    )


def test_every_form_of_the_set_gives_the_same_bits(layout):
    expected = har(layout, levels=False)
    assert [stream.device for stream in expected.devices] == ["subject-01", "subject-03"]
    assert [stream.device for stream in expected.unseen] == ["subject-02"]
    forms = [
        layout.parent,
        zipped(layout, layout.parent / "plain.zip"),
        nested(layout, layout.parent / "as served.zip"),
        layout.parent / "har_full561.npz",
    ]
    for form in forms:
        assert same(har(form, levels=False), expected), form
    shutil.rmtree(layout)
    assert same(har(layout.parent, levels=False), expected), "a folder with the npz"
    (layout.parent / "har_full561.npz").unlink()
    (layout.parent / "as served.zip").rename(layout.parent / "uci-har.zip")
    assert same(har(layout.parent, levels=False), expected), "a folder with the archive"


def test_records_keep_their_order_and_their_labels(layout):
    six = har(layout, levels=False)
    three = har(layout, levels=True)
    recorded = np.loadtxt(layout / "train" / "X_train.txt")
    assert np.array_equal(np.vstack([stream.X for stream in six.devices]), recorded)
    assert six.devices[1].y.tolist() == [ACTIVITIES[k] for k in (0, 1, 2, 3, 4, 5, 0)]
    assert three.classes == LEVELS
    assert three.devices[0].y.tolist() == ["active"] * 3 + ["sedentary"] * 2 + ["lying"]


def test_the_axis_comes_back_to_names_that_occur_three_times():
    assert unique_names(NAMES) == (
        "tBodyAcc-mean()-X",
        "bands()-1,8-X",
        "bands()-9,16-X",
        "bands()-1,8-Y",
        "bands()-9,16-Y",
        "bands()-1,8-Z",
        "bands()-9,16-Z",
    )


def test_single_precision_is_read_as_text_would_print_it():
    rng = np.random.default_rng(0)
    values = (rng.choice([-1, 1], 20_000) * 10.0 ** rng.uniform(-15, 0, 20_000)).astype(np.float32)
    values[:5] = [0.0, -0.0, 1.0, -1.0, 0.1]
    assert np.array_equal(as_printed(values), [float(f"{value:.7e}") for value in values])


def cut(name: str, lines: int) -> Callable[[Path], None]:
    def damage(root: Path) -> None:
        kept = (root / name).read_text().splitlines()[:lines]
        (root / name).write_text("\n".join(kept) + "\n")

    return damage


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda root: (root / "test" / "y_test.txt").unlink(), "y_test.txt' is missing"),
        (cut("train/y_train.txt", 5), "do not fit together"),
        (cut("features.txt", 3), "do not fit together"),
        (
            lambda root: (root / "test" / "X_test.txt").write_text("1 2 3\n4 5\n"),
            "X_test.txt' cannot be read",
        ),
        (lambda root: (root / "test" / "y_test.txt").write_text("7\n" * 6), "not all among 1..6"),
        (
            lambda root: (root / "test" / "subject_test.txt").write_text("3\n" * 6),
            "in the training and in the test",
        ),
        (lambda root: (root / "train" / "X_train.txt").unlink(), "neither"),
    ],
)
def test_a_damaged_copy_is_refused_with_a_reason(layout, damage, message):
    (layout.parent / "har_full561.npz").unlink()
    damage(layout)
    with pytest.raises(DataError, match=message):
        har(layout)


def test_a_wrong_place_is_named(tmp_path):
    for place in ("nowhere.zip", "nowhere.npz"):
        with pytest.raises(DataError, match=f"{place}: no such file"):
            har(tmp_path / place)
    (tmp_path / "page.zip").write_text("<html>not found</html>")
    with pytest.raises(DataError, match="not a zip archive"):
        har(tmp_path / "page.zip")


def test_a_population_refuses_what_does_not_fit(layout):
    population = har(layout)
    X = np.zeros((2, 3))
    y = np.array(["a", "b"])
    for arguments, message in (
        (("a/b", X, y), "device name"),
        (("d", X[0], y), "n x p"),
        (("d", X, y[:1]), "2 records"),
        (("d", np.full((2, 3), np.nan), y), "record 0 has nan"),
        (("d", X, np.array([1, 2])), "responses of type"),
        (("d", X, np.array([1.0, np.inf])), "responses of type"),
    ):
        with pytest.raises(DataError, match=message):
            DeviceStream(*arguments)
    one = DeviceStream("d", X, y)
    for features, classes, devices, message in (
        (("f", "f", "g"), ("a", "b"), (one,), "feature 'f' occurs 2 times"),
        (("f", "g", "h"), ("a", "b"), (one, one), "device 'd' occurs 2 times"),
        (("f", "g"), ("a", "b"), (one,), "3 columns for 2"),
        (("f", "g", "h"), ("a",), (one,), r"labels \['b'\]"),
        (("f", "g", "h"), (), (one,), "numbers"),
        (("f", "g", "h"), ("a", "b"), (), "at least one device"),
    ):
        with pytest.raises(DataError, match=message):
            Population(name="p", features=features, classes=classes, devices=devices, unseen=())
    with pytest.raises(DataError, match="six activities"):
        with_levels(population)


def test_shuffling_breaks_the_link_of_the_devices_only(layout):
    population = har(layout, levels=False)
    shuffled = with_shuffled_responses(population, np.random.default_rng(1))
    assert [sorted(a.y) for a in shuffled.devices] == [sorted(b.y) for b in population.devices]
    assert any(
        (a.y != b.y).any() for a, b in zip(shuffled.devices, population.devices, strict=True)
    )
    assert shuffled.unseen == population.unseen
    assert "shuffled" in shuffled.caveats[-1]


@pytest.mark.data
def test_the_real_set_is_what_its_authors_describe(data_dir):
    population = har(data_dir, levels=False)
    assert len(population.features) == len(set(population.features)) == 561
    bands = [name for name in population.features if "bandsEnergy" in name]
    assert sum(name.endswith(("-X", "-Y", "-Z")) for name in bands) == 126
    assert (len(population.devices), len(population.unseen)) == (21, 9)
    assert sum(map(len, population.devices)) == 7352
    assert sum(map(len, population.unseen)) == 2947
    assert {len(stream) for stream in population.everyone} <= set(range(281, 410))
    assert max(float(np.abs(stream.X).max()) for stream in population.everyone) <= 1.0


@pytest.mark.data
@pytest.mark.slow
def test_the_official_layout_of_the_real_set_gives_the_same_bits(data_dir, tmp_path):
    subprocess.run(
        [sys.executable, data_dir / "uci_layout", tmp_path], check=True, stdout=subprocess.DEVNULL
    )
    assert same(har(tmp_path), har(data_dir / "uci_har"))
