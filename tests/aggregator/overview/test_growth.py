"""The history begins with what is known, and a forecast belongs to the version that is shown."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aggregator.overview.growth import forecast, history
from aggregator.store.rows import PublishedRow, VersionRow
from fsir.wire.messages import Subspace

SUBSPACE = Subspace(
    task=bytes(32),
    version=5,
    features=("a", "b"),
    basis=np.array([[1.0], [0.0]]),
    singular_values=np.array([0.8]),
    noise_level=0.1,
    expected_error=0.3,
    devices=12,
    records=1200,
    expected_accuracy=0.9,
)
SHOWN = PublishedRow(body=b"x", version=5, change=9, at=60.0)
ROW = VersionRow(
    version=5,
    at=60.0,
    devices=12,
    records=1200,
    dimension=1,
    expected_error=0.3,
    expected_accuracy=0.9,
    angle=2.0,
    forecast_error=0.2,
)


def test_a_store_that_knows_no_versions_has_the_one_that_is_published() -> None:
    (entry,) = history([], SHOWN, SUBSPACE)
    (same,) = history([ROW], SHOWN, SUBSPACE)
    assert entry == {**same, "angle_degrees": None}
    assert history([], None, None) == []


def test_a_forecast_is_for_twice_as_many_as_are_in_what_is_shown() -> None:
    wanted = {"devices": 24, "expected_error": 0.2, "expected_accuracy": None}
    assert forecast([ROW], SUBSPACE) == wanted
    # Not of an earlier version, nor of one that was cleared, nor where there is none.
    assert forecast([replace(ROW, version=4)], SUBSPACE) is None
    assert forecast([ROW], None) is None
    assert forecast([replace(ROW, forecast_error=None)], SUBSPACE) is None
    assert forecast([], SUBSPACE) is None
