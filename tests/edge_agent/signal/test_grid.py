"""The public grid: how many windows one sample can touch."""

from __future__ import annotations

import pytest

from edge_agent.signal.grid import unit_records
from edge_agent.signal.windows import Windower


@pytest.mark.parametrize(("margin", "expected"), [(0, 2), (1, 3), (32, 3), (33, 4), (64, 4)])
def test_unit_records_follow_from_the_support(margin, expected):
    assert unit_records(margin) == expected == Windower(margin).unit_records
    with pytest.raises(ValueError, match="margin"):
        unit_records(-1)
