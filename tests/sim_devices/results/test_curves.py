"""Curves as they are drawn: every point, every level, no label on another."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_devices.results import curve_png, curve_svg
from sim_devices.results.curves import Chart, Dot, Level, apart

DOTS = (
    Dot(x=5, y=0.8, low=0.75, high=0.82),
    Dot(x=10, y=0.85, low=0.84, high=0.9, marked=True),
    Dot(x=40, y=0.9, low=0.9, high=0.9, simulated=True),
)
CHART = Chart(
    title="what <more> devices add",
    across="devices",
    up="% right",
    dots=DOTS,
    levels=(
        Level("best public 80.1%", 0.801, "public"),
        Level("one device 80.0%", 0.8, "private"),
        Level("no noise 95.0%", 0.95, "open"),
    ),
)


@given(st.lists(st.floats(0.0, 100.0), min_size=1, max_size=8))
def test_no_label_hides_another_and_all_stay_inside(places):
    found = apart(places, 10.0, 0.0, 100.0)
    order = sorted(range(len(places)), key=lambda k: places[k])
    for one, other in pairwise(order):
        assert found[other] - found[one] >= 10.0 - 1e-6
    assert min(found) >= -1e-6
    assert max(found) <= 100.0 + 1e-6


def test_labels_that_have_room_stay_where_they_are():
    assert apart([10.0, 50.0, 90.0], 10.0, 0.0, 100.0) == [10.0, 50.0, 90.0]


def test_every_point_and_every_level_is_drawn():
    drawn = curve_svg.svg(CHART)
    assert drawn.count("<circle") == 3
    assert drawn.count('class="run drawn"') == 1  # hollow
    assert drawn.count('class="curve drawn"') == 1  # dashed
    assert drawn.count('class="level"') == 3
    for level in CHART.levels:
        assert f">{level.name}</text>" in drawn
    for dot in DOTS:
        assert f">{dot.x:g}</text>" in drawn
    assert "5: 80.0, 10: 85.0, 40: 90.0" in drawn  # for who cannot see it
    assert "what &lt;more&gt; devices" in drawn
    assert "nan" not in drawn


def test_twice_as_many_are_equally_far_wherever_one_begins():
    dots = [replace(DOTS[0], x=x) for x in (1, 2, 4, 8)]
    drawn = curve_svg.svg(replace(CHART, dots=dots))
    xs = [float(x) for x in re.findall(r'<circle[^>]* cx="([0-9.]+)"', drawn)]
    steps = [b - a for a, b in pairwise(xs)]
    assert steps == pytest.approx([steps[0]] * 3, abs=0.2)


def test_a_better_score_stands_higher():
    drawn = curve_svg.svg(CHART)
    ys = [float(y) for y in re.findall(r'<circle[^>]* cy="([0-9.]+)"', drawn)]
    assert ys == sorted(ys, reverse=True)


@pytest.mark.parametrize("dots", [DOTS[:1], (replace(DOTS[0], low=0.8, high=0.8),)])
def test_a_single_point_is_drawn_too(dots, tmp_path):
    chart = replace(CHART, dots=dots, levels=())
    assert "nan" not in curve_svg.svg(chart)
    path = curve_png.draw([chart], tmp_path / "deep" / "one.png", "one")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_the_picture_has_a_chart_beside_a_chart(tmp_path):
    one = curve_png.draw([CHART], tmp_path / "one.png", "one")
    three = curve_png.draw([CHART] * 3, tmp_path / "three.png", "three " * 50)
    assert _width(three) == pytest.approx(3 * _width(one), rel=0.01)


def _width(path):
    return int.from_bytes(path.read_bytes()[16:20], "big")
