"""Objects become readings: by the names of their sensors, and dated on arrival."""

from __future__ import annotations

import pytest

from edge_agent.sources.termux.readings import DELAY_SECONDS, Dating, Reading, rate, triple

BOTH = {"A accelerometer": {"values": [1, 2, 3]}, "A gyroscope": {"values": [4, 5, 6]}}


def dating(*times):
    clock = iter(times)
    return Dating(("accel", "gyro"), lambda: next(clock))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"lsm6dso LSM6DSO Accelerometer Non-wakeup": {"values": [1, 2.5, -3]}}, (1.0, 2.5, -3.0)),
        (
            {  # the shorter name, as the app chooses it
                "ACCEL-Uncalibrated": {"values": [9, 9, 9, 0, 0, 0]},
                "ACCEL": {"values": [1, 2, 3]},
            },
            (1.0, 2.0, 3.0),
        ),
        ({"accel": {"values": [1, 2, 3, 4, 5, 6]}}, (1.0, 2.0, 3.0)),
        ({}, None),
        ({"gyro": {"values": [1, 2, 3]}}, None),
        ({"accel": {"values": [1, 2]}}, None),
        ({"accel": {"values": ["a", 2, 3]}}, None),
        ({"accel": {"values": 7}}, None),
        ({"accel": [1, 2, 3]}, None),
        ({"accel": {}}, None),
    ],
)
def test_a_sensor_is_found_by_a_part_of_its_name(found, expected):
    assert triple(found, "accel") == expected


def test_an_object_has_the_time_of_its_arrival():
    dates = dating(100.0, 100.0101, 100.0199)
    taken = [dates.readings([BOTH])[0].time for _ in range(3)]
    assert taken == [100.0, 100.0101, 100.0199]


def test_objects_that_were_held_up_are_dated_one_after_the_other():
    dates = dating(100.0, 100.1)
    dates.readings([BOTH])
    taken = [reading.time for reading in dates.readings(5 * [BOTH])]
    assert taken == pytest.approx([100.1 - k * DELAY_SECONDS for k in (4, 3, 2, 1, 0)])


def test_dates_rise_unless_the_clock_goes_back():
    dates = dating(100.0, 100.005, 90.0, 90.01)
    dates.readings([BOTH])
    crowd = [reading.time for reading in dates.readings(20 * [BOTH])]
    assert crowd == sorted(crowd)
    assert crowd[0] > 100.0
    assert crowd[-1] == 100.005
    assert dates.readings([BOTH])[0].time == 90.0
    assert dates.readings([BOTH])[0].time == 90.01


def test_objects_without_both_sensors_are_no_readings():
    objects = [{}, {"A accelerometer": {"values": [1, 2, 3]}}, BOTH]
    assert dating(100.0).readings(objects) == [Reading(100.0, (1.0, 2.0, 3.0), (4.0, 5.0, 6.0))]


def test_the_rate_is_that_of_changes():
    """A sensor of 15 Hz that is printed a hundred times a second gives 15 readings."""
    readings = [Reading(k / 100, (k * 15 // 100, 0.0, 0.0), (0.0, 0.0, 0.0)) for k in range(300)]
    assert rate(readings, lambda reading: reading.acc) == pytest.approx(15, rel=0.05)
    assert rate(readings, lambda reading: reading.gyro) == 0
