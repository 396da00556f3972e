"""Versions and arrivals: bounded, in order, with the ends always there."""

from __future__ import annotations

import pytest

from aggregator.store.base import Store
from aggregator.store.rows import VersionRow
from tests.aggregator.store.rows import row


def version(number: int) -> VersionRow:
    return VersionRow(
        version=number, at=float(number), devices=1, records=1, dimension=1, expected_error=0.5
    )


@pytest.mark.parametrize("count", [1, 2, 9, 10, 11, 57, 1000, 1001])
def test_of_many_versions_the_first_the_newest_and_some_between_are_shown(
    store: Store, count: int
) -> None:
    with store.transaction():
        for number in range(1, count + 1):
            store.put_version(1, version(number))
        store.put_version(2, version(77))  # of another task
    shown = [row.version for row in store.versions(1, 10)]
    assert shown == sorted(set(shown))
    assert len(shown) <= 10
    assert shown[-min(count, 5) :] == list(range(max(1, count - 4), count + 1))
    assert shown[0] == 1
    if count <= 5:
        assert len(shown) == count


def test_everything_about_a_version_is_read_as_it_was_written(store: Store) -> None:
    full = VersionRow(
        version=3,
        at=1.5,
        devices=4,
        records=5,
        dimension=2,
        expected_error=0.1,
        expected_accuracy=0.9,
        angle=12.0,
        forecast_error=0.07,
        forecast_accuracy=0.95,
    )
    store.put_version(1, full)
    assert store.versions(1, 10) == [full]


def test_arrivals_are_those_of_one_stage_the_newest_first(store: Store) -> None:
    assert store.arrivals(1, "final", 5) == []
    assert store.first_at(1, "final") is None
    rows = [row(f"d{i}", "screening" if i % 2 else "final", at=float(i)) for i in range(8)]
    with store.transaction():
        store.insert(1, rows)
    assert store.arrivals(1, "final", 3) == [6.0, 4.0, 2.0]
    assert store.arrived_since(1, "final", 2.0) == 2
    assert store.first_at(1, "screening") == 1.0
