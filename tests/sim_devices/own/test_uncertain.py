"""A standard error over people is what statistics say it is."""

from __future__ import annotations

import numpy as np
import pytest

from sim_devices.datasets.population import DeviceStream
from sim_devices.own.uncertain import standard_error


def people(shares, each=20):
    """Each is right in so many of their records."""
    return [
        DeviceStream(
            f"p{k}", (np.arange(each) < share * each).astype(float)[:, None], np.zeros(each)
        )
        for k, share in enumerate(shares)
    ]


def mean(streams):
    return float(np.mean(np.concatenate([stream.X for stream in streams])))


def test_of_a_mean_it_is_the_textbook_s():
    shares = np.array([0.5, 0.9, 0.7, 0.75])
    expected = shares.std(ddof=1) / np.sqrt(len(shares))
    assert standard_error(people(shares), mean) == pytest.approx(expected, rel=1e-12)


def test_of_a_difference_what_people_have_in_common_cancels():
    unseen = people([0.5, 0.9, 0.7, 0.75])
    assert standard_error(unseen, mean, lambda streams: mean(streams) - 0.1) == pytest.approx(0.0)


def test_many_alike_records_of_one_person_count_as_one_person():
    few = standard_error(people([0.5, 0.9, 0.7], each=20), mean)
    many = standard_error(people([0.5, 0.9, 0.7], each=2000), mean)
    assert few == pytest.approx(many)


def test_one_person_tells_nothing_about_others():
    assert standard_error(people([0.5]), mean) is None
