"""A cell is held against the control with the best mean, whoever was lucky where."""

from __future__ import annotations

import pytest

from sim_devices.worth.cell import Budget, Cell
from tests.sim_devices.worth.made_up import BAD, EVEN, GOOD, run


def test_means_worst_and_difference():
    assert GOOD.means["federation"] == pytest.approx(0.93)
    assert GOOD.worst == 0.91
    assert GOOD.best_control == "shrunken"
    assert GOOD.difference == pytest.approx(0.03)
    assert GOOD.standard_error == pytest.approx(0.02)
    assert EVEN.standard_error is None


def test_the_best_control_is_best_on_average():
    lucky = run(0.9, plain=1.0, shrunken=0.86, alone=0.8)
    unlucky = run(0.9, plain=0.5, shrunken=0.9, alone=0.8)
    both = Cell("wine", Budget(1.0), (lucky, unlucky))
    assert both.best_control == "shrunken"
    assert both.difference == pytest.approx(0.02)
    assert Cell("wine", Budget(1.0), (lucky, lucky)).best_control == "plain"


def test_up_to_a_point_below_is_not_worse():
    assert BAD.lost
    assert not EVEN.lost
    assert not GOOD.lost


def test_a_surprise_has_a_sign():
    assert GOOD.surprise == pytest.approx(0.0)
    assert GOOD.apart == pytest.approx(0.02)  # once above and once below: together as expected
    assert BAD.surprise == pytest.approx(0.93 - 0.885)
