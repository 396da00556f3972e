"""Streams of different lengths become equally long, and nothing is made up for it."""

from __future__ import annotations

import numpy as np
import pytest

from fsir.contract import task_from_table
from fsir.privacy.moments import Moments
from fsir.privacy.plan import first_stage
from sim_devices.datasets.filled import filled
from sim_devices.datasets.population import DeviceStream

STREAM = DeviceStream("phone", np.ones((3, 2)), np.array(["sit", "walk", "sit"]))


def test_what_was_recorded_comes_first_and_stays_as_it_is():
    longer = filled(STREAM, 5)
    assert len(longer) == 5
    np.testing.assert_array_equal(longer.X[:3], STREAM.X)
    assert longer.y.tolist() == ["sit", "walk", "sit", "", ""]


def test_a_long_stream_stays_as_it_is():
    assert filled(STREAM, 3) is STREAM
    assert filled(STREAM, 2) is STREAM


NUMBERS = DeviceStream("scale", np.ones((3, 2)), np.array([0.5, 2.0, 0.0]))


def test_where_the_response_is_a_number_none_is_made_up():
    longer = filled(NUMBERS, 5)
    np.testing.assert_array_equal(longer.y, [0.5, 2.0, 0.0, np.nan, np.nan])
    assert np.isfinite(longer.X).all()


@pytest.mark.parametrize(
    ("stream", "response"),
    [(STREAM, {"classes": ["sit", "walk"]}), (NUMBERS, {"cuts": [1.0]})],
)
def test_what_is_filled_in_counts_as_offered_and_is_not_learned(stream, response):
    task = task_from_table(
        {
            "name": "few",
            "features": {"names": ["a", "b"]},
            "response": response,
            "clip": {"truncate": 2, "norm": 2.5},
            "privacy": {"epsilon": 1},
            "report": {"records": 5},
        }
    )
    moments = Moments(task, first_stage(task))
    longer = filled(stream, 5)
    moments.learn_many(longer.X, longer.y)
    assert moments.n == 5
    assert moments.counts().tolist() == [2, 1]
    assert moments.refused == {"unknown response": 2}
