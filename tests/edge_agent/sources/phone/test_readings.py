"""The readings of a phone, one by one: their times, their units, and what is none."""

from __future__ import annotations

import json

import numpy as np
import pytest

from edge_agent.sources.phone.readings import AGAIN, FUTURE, NONSENSE, UNIT
from edge_agent.sources.phone.session import Phone
from tests.edge_agent.motion import BEGIN, recording
from tests.edge_agent.sources.phone.phones import entry, messages, records_of

NOW = BEGIN + 3600.0


def test_of_readings_with_the_same_time_in_a_message_the_first_counts():
    good, other = (entry("gyroscope", BEGIN, vector) for vector in ((1, 2, 3), (4, 5, 6)))
    later = entry("gyroscope", BEGIN + 0.02, (7, 8, 9))
    phone = Phone("test")
    assert phone.take(json.dumps({"payload": [good, other, later, good]}).encode(), 0.0)
    (samples,) = phone.samples(0.0)
    np.testing.assert_array_equal(samples.gyro, [[1, 2, 3], [7, 8, 9]])
    assert phone.tally.counts == {AGAIN: 2}


def test_a_phone_that_was_in_the_future_for_a_while_loses_that_while_alone(caplog):
    times, acc, gyro = recording(30)
    clean, _, _ = records_of(messages(times[400:], acc[400:], gyro[400:]), clock=lambda: NOW)
    wrong = times.copy()
    wrong[:400] += 75 * 365.25 * 86400
    future = messages(wrong[:400], acc[:400], gyro[:400], session="future")
    records, phone, source = records_of(future, clock=lambda: NOW)
    assert not records
    assert phone.tally.counts == {FUTURE: 1600}
    assert "set both clocks" in caplog.text
    assert "here it is 2023-11-14 23:13 UTC" in caplog.text
    sent = messages(wrong[:400], acc[:400], gyro[:400])
    for message in messages(times[400:], acc[400:], gyro[400:]):
        sent.append({**message, "messageId": len(sent)})
    records, _, source = records_of(sent, clock=lambda: NOW)
    assert records == clean
    assert not [kind for kind in source.tally.counts if "older than the last window" in kind]


def test_a_machine_that_is_behind_waits_until_its_clock_is_set():
    sent = messages(*recording(30))
    set_at = 10  # messages
    clocks = iter([BEGIN - 5 * 86400] * set_at + [NOW] * len(sent))
    records, phone, source = records_of(sent, clock=lambda: next(clocks))
    late, _, _ = records_of(sent[set_at:], step=1.0)
    assert records == late
    assert len(records) >= 12
    names = ("totalacceleration", "accelerometer", "gravity", "gyroscope")
    lost = sum(one["name"] in names for message in sent[:set_at] for one in message["payload"])
    assert phone.tally.counts[FUTURE] == lost
    assert not [kind for kind in source.tally.counts if "refused" in kind]


@pytest.mark.parametrize("unit", [1e9, 1e6, 1e3])
def test_times_in_another_unit_are_named(unit, caplog):
    sent = messages(*recording(10), total=False)
    for one in (one for message in sent for one in message["payload"]):
        one["time"] = one["time"] / unit
    records, phone, source = records_of(sent)
    assert not records
    assert phone.tally.counts == {UNIT: 1500}
    assert "nanoseconds since 1970" in caplog.text
    assert not source.tally.counts


def test_readings_that_are_none_are_dropped_one_by_one():
    good = entry("gyroscope", 1_700_000_000.0, (1, 2, 3))
    bad = [{"name": "gyroscope"}, {**good, "time": "noon"}, {**good, "time": float("inf")}]
    others = [7, None, "x", {"name": "test", "time": 0, "values": []}, {"name": ["gyroscope"]}, {}]
    dated = [{**good, "time": 1e300}, {**good, "time": -5}]
    phone = Phone("test")
    payload = [*bad, *others, *dated, good]
    assert phone.take(json.dumps({"messageId": 0, "payload": payload}).encode(), 0.0)
    (samples,) = phone.samples(0.0)
    np.testing.assert_array_equal(samples.gyro, [[1, 2, 3]])
    assert samples.times == 1_700_000_000.0
    assert phone.tally.counts == {NONSENSE: len(bad), FUTURE: 1, UNIT: 1}


@pytest.mark.parametrize(
    "values", [None, [], {"x": 1, "y": None, "z": 2}, {"x": 1, "y": "much", "z": 2}]
)
def test_a_reading_without_numbers_keeps_its_place_in_time(values):
    """If it went away altogether, its absence could decide about more windows than its own."""
    bad = {"name": "gyroscope", "time": 1_700_000_000 * 10**9, "values": values}
    phone = Phone("test")
    assert phone.take(json.dumps({"messageId": 0, "payload": [bad]}).encode(), 0.0)
    (samples,) = phone.samples(0.0)
    assert samples.times == 1_700_000_000.0
    assert np.isnan(samples.gyro).all()
