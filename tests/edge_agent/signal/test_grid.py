"""The public grid: how many windows one sample can touch."""

from __future__ import annotations

import numpy as np
import pytest

from edge_agent.signal.grid import HOP, WINDOW, unit_records
from edge_agent.signal.windows import Windower


@pytest.mark.parametrize(("margin", "expected"), [(0, 2), (1, 3), (32, 3), (33, 4), (64, 4)])
def test_unit_records_follow_from_the_support(margin, expected):
    assert unit_records(margin) == expected == Windower(margin).unit_records
    with pytest.raises(ValueError, match="margin"):
        unit_records(-1)


@pytest.mark.parametrize("lasts", [0.0, 0.5, 6.25, 64.0, 64.5, 128.0])
def test_a_reading_that_comes_again_touches_as_many_as_intervals_do(lasts):
    """Counted over every place that such a reading can have, in eighths of a cell."""
    starts = np.arange(0, 256, 0.125)
    windows = np.arange(-8, 8)[:, None] * HOP
    touched = (windows <= starts + lasts) & (windows + WINDOW > starts)
    assert touched.sum(axis=0).max() == unit_records(lasts=lasts)
    with pytest.raises(ValueError, match="lasts"):
        unit_records(lasts=-1)
