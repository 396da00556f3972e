"""How the page draws and lists what has grown."""

from __future__ import annotations

import re
from typing import Any

import pytest

from aggregator.page.parts.growth import versions
from aggregator.page.parts.plot import curve


def entry(*numbers: int) -> dict[str, Any]:
    """A history of these versions."""
    row = {"at": "2026-03-01T17:20:11+00:00", "devices": 1, "expected_error": 0.1}
    return {"history": [{**row, "version": k, "angle_degrees": None} for k in numbers]}


def test_all_versions_that_are_not_listed_are_counted() -> None:
    """Of many, the history itself has but some of the older ones."""
    thinned = [*range(1, 901, 10), *range(901, 1001)]
    assert "950 older ones are not listed" in versions("here", entry(*thinned))[0]
    assert "older" not in versions("here", entry(*range(1, 51)))[0]


@pytest.mark.parametrize("devices", [1, 2, 3, 7])
def test_devices_are_counted_in_whole_numbers(devices: int) -> None:
    drawn = curve("label", [(float(devices), 0.5)], None)
    below = re.findall(r'text-anchor="middle">([0-9.]+)<', drawn)
    assert below[0] == "0"
    assert len(below) > 1
    assert all(number.isdigit() for number in below)
