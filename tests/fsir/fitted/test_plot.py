"""Pictures of a subspace: what is drawn is what is there."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="NOT TESTED: matplotlib is not installed")

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

from fsir.fitted.drawing import COLOURS
from fsir.fitted.errors import InputError
from fsir.fitted.plot import MOST_BARS, MOST_POINTS
from fsir.fitted.uncertainty import loading_sd, unit_length
from tests.fsir.fitted.made import numeric, of_mapped, plain, records


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def colours(axis) -> list[str]:
    return [to_hex(points.get_facecolor()[0]).upper() for points in axis.collections]


def points(axis) -> list[np.ndarray]:
    return [np.asarray(group.get_offsets()) for group in axis.collections]


def labels(axis) -> list[str]:
    return [text.get_text() for legend in axis.figure.legends for text in legend.get_texts()]


def title(axis) -> list[str]:
    return [legend.get_title().get_text() for legend in axis.figure.legends]


def test_records_stand_on_the_first_two_directions_in_the_colour_of_their_class():
    subspace = plain()
    X, y = records(subspace.task, 90)
    axis = subspace.plot(X, y).axes[0]
    assert colours(axis) == list(COLOURS[:3])
    assert labels(axis) == ["a", "b", "c"]
    assert title(axis) == ["y"]
    Z = subspace.transform(X)
    for found, label in zip(points(axis), "abc", strict=True):
        assert np.array_equal(found, Z[y == label, :2])


def test_without_labels_the_predicted_class_gives_the_colour():
    subspace = plain()
    X, _ = records(subspace.task, 90)
    axis = subspace.plot(X).axes[0]
    assert [len(group) for group in points(axis)] == [
        int((subspace.predict(X) == label).sum()) for label in "abc"
    ]
    assert title(axis) == ["y, predicted"]


def test_one_direction_is_spread_out_by_class():
    subspace = of_mapped()
    X, y = records(subspace.task, 60)
    axis = subspace.plot(X, y).axes[0]
    assert axis.get_yticks().tolist() == []
    heights = [group[:, 1] for group in points(axis)]
    assert heights[0].max() < heights[1].min() < heights[1].max() < heights[2].min()


def test_a_number_stands_against_the_first_direction():
    subspace = numeric()
    X, y = records(subspace.task, 60)
    axis = subspace.plot(X, y).axes[0]
    assert np.array_equal(points(axis)[0], np.column_stack([subspace.transform(X)[:, 0], y]))
    assert axis.get_ylabel() == "delay"
    assert len(points(subspace.plot(X).axes[0])[0]) == 60


def test_labels_that_nobody_knows_come_last_and_crowds_are_thinned():
    subspace = plain()
    X, _ = records(subspace.task, 2000)
    axis = subspace.plot(X, ["z"] * 1990 + ["b"] * 10).axes[0]
    assert labels(axis) == ["b", "z"]
    assert [len(group) for group in points(axis)] == [10, MOST_POINTS]
    with pytest.raises(InputError, match="y has 3 entries for 2000 records"):
        subspace.plot(X, ["a", "b", "c"])


def test_ten_classes_have_ten_looks():
    names = [f"c{h}" for h in range(10)]
    subspace = plain(12, response={"classes": names})
    X, y = records(subspace.task, 200)
    axis = subspace.plot(X, y).axes[0]
    looks = {
        (colour, group.get_paths()[0].vertices.tobytes())
        for colour, group in zip(colours(axis), axis.collections, strict=True)
    }
    assert len(looks) == 10


def test_a_direction_has_a_bar_for_each_feature_with_a_whisker():
    subspace = plain()
    axes = subspace.plot().axes
    assert len(axes) == subspace.message.dimension == 2
    loadings = unit_length(subspace.message.basis)
    sd = loading_sd(subspace.message.basis, subspace.message.expected_error)
    for k, axis in enumerate(axes):
        order = [int(text.get_text().removeprefix("x")) for text in axis.get_yticklabels()]
        assert [bar.get_width() for bar in axis.patches] == loadings[order, k].tolist()
        assert np.abs(loadings[order, k]).tolist() == sorted(np.abs(loadings[:, k]))
        whiskers = np.array(axis.collections[0].get_segments())
        half = (whiskers[:, 1, 0] - whiskers[:, 0, 0]) / 2
        assert np.allclose(half, 2.0 * sd[order])
    assert "two standard deviations" in _title(axes[0].figure)


def test_of_many_features_the_largest_are_shown():
    subspace = plain(60)
    axis = subspace.plot().axes[0]
    shown = {text.get_text() for text in axis.get_yticklabels()}
    largest = np.argsort(-np.abs(subspace.message.basis[:, 0]))[:MOST_BARS]
    assert shown == {f"x{j}" for j in largest}
    assert axis.get_xlabel() == "loading: the 20 largest of 60"


def test_under_a_public_map_the_angle_stands_alone():
    axis = of_mapped().plot().axes[0]
    assert not axis.collections
    assert "degrees of 90" in _title(axis.figure)
    assert "not known for single loadings" in _title(axis.figure)


def _title(figure):
    """In one line."""
    return " ".join(figure.get_suptitle().split())


@pytest.mark.parametrize("made", [plain, lambda: plain(dimension=1), of_mapped])
def test_the_title_fits_into_the_picture(made):
    figure = made().plot()
    figure.canvas.draw()
    title = figure._suptitle.get_window_extent()
    assert title.x0 >= 0.0
    assert title.x1 <= figure.bbox.width


def test_a_direction_that_noise_could_have_made_is_faint():
    subspace = plain(privacy={"epsilon": 0.05}, dimension=2)
    assert subspace.message.singular_values[1] < subspace.message.noise_level
    axis = subspace.plot().axes[1]
    assert "lost in the noise" in axis.get_title()
    assert to_hex(axis.patches[0].get_facecolor()).upper() not in COLOURS
