"""The readings of a phone: in their order of arrival, and a stray one costs its own windows alone."""

from __future__ import annotations

import json
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_agent.signal.windows import Windower
from edge_agent.sources.phone.readings import (
    AGAIN,
    ASIDE,
    FUTURE,
    LONELY,
    NONSENSE,
    PENDING,
    UNIT,
    WAIT,
)
from edge_agent.sources.phone.session import SILENCE, Phone
from tests.edge_agent.motion import BEGIN, read, recording, write_recording
from tests.edge_agent.phones import UPRIGHT, G, entry, messages, records_of
from tests.edge_agent.sources.test_windowed import ordinals

NOW = BEGIN + 3600.0


def values(records):
    return {record.position.ordinal: tuple(record.x.values()) for record in records}


def changed(some, others):
    some, others = values(some), values(others)
    return {k for k in some.keys() | others.keys() if some.get(k) != others.get(k)}


@pytest.mark.parametrize("total", [True, False])
@pytest.mark.parametrize("batch", [0.2, 1.0, 5.0])
def test_a_phone_gives_the_windows_of_its_samples(tmp_path, total, batch):
    times, acc, gyro = recording(20, rate=100.0, jitter=0.001)
    expected, _ = read(write_recording(tmp_path / "same.csv", times, acc, gyro))
    found, phone, source = records_of(messages(times, acc, gyro, total, batch))
    assert ordinals(found) == ordinals(expected)
    assert len(found) == 14
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(list(mine.x.values()), list(other.x.values()), atol=2e-3)
    assert phone.tally.counts == ({ASIDE: 4000} if total else {})
    assert not [kind for kind in source.tally.counts if "refused" in kind]


def test_what_comes_along_with_the_total_acceleration_has_no_say(caplog):
    """On Android: whatever its times are, and whether gravity is switched on."""
    times, acc, gyro = recording(20, rate=100.0, jitter=0.001)
    alone, _, _ = records_of(messages(times, acc, gyro))
    for shift in (0.003, None):
        sent = messages(times, acc, gyro)
        for message in sent:
            for one in message["payload"]:
                if one["name"] == "accelerometer":
                    one["time"] += round((shift or 0) * 1e9)
            message["payload"] = [
                one for one in message["payload"] if shift or one["name"] != "gravity"
            ]
        found, phone, _ = records_of(sent, step=1.0)
        assert found == alone
        assert set(phone.tally.counts) == {ASIDE}
    assert not [
        record
        for record in caplog.records
        if ASIDE in record.getMessage() and record.levelname != "INFO"
    ]


# --- which acceleration: decided locally -----------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 999),
    st.integers(-5, 25),
    st.sampled_from([0.3, 1.0, 5.0]),
    st.booleans(),
    st.booleans(),
)
def test_one_stray_reading_changes_no_windows_but_its_own(at, aside, batch, total, last):
    """A total acceleration among sums, or the other way round; anywhere in its message."""
    times, acc, gyro = recording(20, jitter=0.001)
    sent = messages(times, acc, gyro, total=total, batch=batch)
    for message in sent:
        kept = (
            ("gyroscope", "totalacceleration")
            if total
            else ("gyroscope", "accelerometer", "gravity")
        )
        message["payload"] = [one for one in message["payload"] if one["name"] in kept]
    clean, _, _ = records_of(sent)
    moment = times[at] + aside / 1e3 / 2
    names = ("accelerometer", "gravity") if total else ("totalacceleration",)
    message = sent[
        next(
            k for k, one in enumerate(sent) if one["payload"][-1]["time"] >= round(times[at] * 1e9)
        )
    ]
    stray = [entry(name, moment, (1.0, 2.0, 3.0)) for name in names]
    message["payload"] = message["payload"] + stray if last else stray + message["payload"]
    found, _, _ = records_of(sent)
    block = int(round(moment * 1e9) // 1_280_000_000)
    assert changed(clean, found) <= {block - 1, block}


@pytest.mark.parametrize(("device", "step"), [("phone", 1.0), ("other", SILENCE)])
def test_another_session_or_phone_starts_anew(device, step):
    times, acc, gyro = recording(24)
    half = len(times) // 2
    first = messages(times[:half], acc[:half], gyro[:half], total=True)
    second = messages(
        times[half:], acc[half:], gyro[half:], total=False, session="two", device=device
    )
    alone, _, _ = records_of(second)
    found, phone, _ = records_of(first + second, step=step)
    assert len(alone) >= 6
    assert found[-len(alone) :] == alone
    assert set(phone.tally.counts) == {ASIDE}


def test_a_total_acceleration_that_ends_gives_way_to_the_sums():
    times, acc, gyro = recording(24)
    sent = messages(times, acc, gyro)
    whole, _, _ = records_of(sent)
    for message in sent[10:]:
        message["payload"] = [
            one for one in message["payload"] if one["name"] != "totalacceleration"
        ]
    found, _, _ = records_of(sent)
    assert len(set(ordinals(whole)) - set(ordinals(found))) <= 2
    assert ordinals(found)[-6:] == ordinals(whole)[-6:]


# --- order of arrival ------------------------------------------------------------------------------------------------


def arrivals(times, acc, gyro, total):
    """All entries in their order of arrival."""
    found = []
    for moment, a, g in zip(times, acc, gyro, strict=True):
        found += [entry("totalacceleration", moment, a * G)] if total else []
        found += [
            entry("accelerometer", moment, a * G - UPRIGHT),
            entry("gravity", moment, UPRIGHT),
        ]
        found.append(entry("gyroscope", moment, g))
    return found


def cut(entries, sizes, by_stream):
    """Messages of these sizes, over and over; each in order of arrival, or stream after stream."""
    found, low = [], 0
    while low < len(entries):
        part = entries[low : low + sizes[len(found) % len(sizes)]]
        low += len(part)
        payload = sorted(part, key=lambda one: one["name"]) if by_stream else part
        found.append(
            {"messageId": len(found), "sessionId": "one", "deviceId": "phone", "payload": payload}
        )
    return found


STEPS = st.lists(st.tuples(st.integers(20, 580), st.floats(0.03, 4.0)), max_size=3)


@settings(max_examples=30, deadline=None)
@given(STEPS, st.lists(st.integers(1, 900), min_size=1, max_size=6), st.booleans(), st.booleans())
def test_any_cut_into_messages_gives_the_same_windows(steps, sizes, by_stream, total):
    """Also if the clock steps back, within a message or between two."""
    times, acc, gyro = recording(12, jitter=0.002)
    for at, back in steps:
        times[at:] -= back
    entries = arrivals(times, acc, gyro, total)
    one_by_one, _, _ = records_of(cut(entries, [1], False))
    found, _, _ = records_of(cut(entries, sizes, by_stream))
    assert found == one_by_one


@pytest.mark.parametrize(("at", "back"), [(520, 0.31), (515, 0.21), (520, 0.35), (533, 1.5)])
@pytest.mark.parametrize("total", [True, False])
def test_a_clock_that_steps_back_inside_a_message_is_noticed(at, back, total):
    times, acc, gyro = recording(30, jitter=0.001)
    times[at:] -= back
    windower = Windower(0, 8.0, 35.0)
    expected = [window.index for window in windower.push(times, acc, gyro)]
    found, _, source = records_of(cut(arrivals(times, acc, gyro, total), [150 + 50 * total], True))
    assert ordinals(found) == expected
    assert windower.dropped["backward"] >= 2
    backward = next(
        count for kind, count in source.tally.counts.items() if "the clock went back" in kind
    )
    assert backward == windower.dropped["backward"]


def test_of_readings_with_the_same_time_in_a_message_the_first_counts():
    good, other = (entry("gyroscope", BEGIN, vector) for vector in ((1, 2, 3), (4, 5, 6)))
    later = entry("gyroscope", BEGIN + 0.02, (7, 8, 9))
    phone = Phone("test")
    assert phone.take(json.dumps({"payload": [good, other, later, good]}).encode(), 0.0)
    (samples,) = phone.samples(0.0)
    np.testing.assert_array_equal(samples.gyro, [[1, 2, 3], [7, 8, 9]])
    assert phone.tally.counts == {AGAIN: 2}


# --- clocks and units ------------------------------------------------------------------------------------------------


def test_a_phone_that_was_in_the_future_for_a_while_loses_that_while_alone(caplog):
    times, acc, gyro = recording(30)
    clean, _, _ = records_of(messages(times[400:], acc[400:], gyro[400:]), clock=lambda: NOW)
    wrong = times.copy()
    wrong[:400] += 75 * 365.25 * 86400
    found, phone, source = records_of(
        messages(wrong[:400], acc[:400], gyro[:400], session="future"), clock=lambda: NOW
    )
    assert not found
    assert phone.tally.counts == {FUTURE: 1600}
    assert "set both clocks" in caplog.text
    assert "here it is 2023-11-14 23:13 UTC" in caplog.text
    sent = messages(wrong[:400], acc[:400], gyro[:400]) + [
        {**message, "messageId": 8 + k}
        for k, message in enumerate(messages(times[400:], acc[400:], gyro[400:]))
    ]
    found, _, source = records_of(sent, clock=lambda: NOW)
    assert found == clean
    assert not [kind for kind in source.tally.counts if "older than the last window" in kind]


def test_a_machine_that_is_behind_waits_until_its_clock_is_set():
    sent = messages(*recording(30))
    set_at = 10  # messages
    clocks = iter([BEGIN - 5 * 86400] * set_at + [NOW] * len(sent))
    found, phone, source = records_of(sent, clock=lambda: next(clocks))
    late, _, _ = records_of(sent[set_at:], step=1.0)
    assert found == late
    assert len(found) >= 12
    names = ("totalacceleration", "accelerometer", "gravity", "gyroscope")
    lost = sum(one["name"] in names for message in sent[:set_at] for one in message["payload"])
    assert phone.tally.counts[FUTURE] == lost
    assert not [kind for kind in source.tally.counts if "refused" in kind]


@pytest.mark.parametrize("unit", [1e9, 1e6, 1e3])
def test_times_in_another_unit_are_named(unit, caplog):
    sent = messages(*recording(10), total=False)
    for one in (one for message in sent for one in message["payload"]):
        one["time"] = one["time"] / unit
    found, phone, source = records_of(sent)
    assert not found
    assert phone.tally.counts == {UNIT: 1500}
    assert "nanoseconds since 1970" in caplog.text
    assert not source.tally.counts


def test_readings_that_are_none_are_dropped_one_by_one():
    good = entry("gyroscope", 1_700_000_000.0, (1, 2, 3))
    bad = [{"name": "gyroscope"}, {**good, "time": "noon"}, {**good, "time": float("inf")}]
    others = [7, None, "x", {"name": "test", "time": 0, "values": []}, {"name": ["gyroscope"]}, {}]
    dated = [{**good, "time": 1e300}, {**good, "time": -5}]
    phone = Phone("test")
    assert phone.take(
        json.dumps({"messageId": 0, "payload": [*bad, *others, *dated, good]}).encode(), 0.0
    )
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


# --- accelerometer and gravity ---------------------------------------------------------------------------------------


def split(message, *names):
    """A message in two: the streams of these names, and the others."""
    payload = defaultdict(list)
    for one in message["payload"]:
        payload[one["name"] in names].append(one)
    return {**message, "payload": payload[True]}, {**message, "payload": payload[False]}


def test_accelerations_without_gravity_are_dropped_and_said(caplog):
    sent = [split(message, "gravity")[1] for message in messages(*recording(30), total=False)]
    found, phone, _ = records_of(sent, step=1.0)
    assert not found
    waiting = sum(
        one["name"] == "accelerometer" for message in sent[-3:] for one in message["payload"]
    )
    assert phone.tally.counts == {LONELY: 1500 - waiting}
    assert "switch on both" in caplog.text


@pytest.mark.parametrize("name", ["accelerometer", "gravity"])
def test_one_of_the_two_may_come_a_message_earlier_however_many_readings_wait(name):
    """Nothing but time makes a reading give up, so that no reading can displace another one."""
    sent = messages(*recording(20, rate=400.0, jitter=0.001), total=False, batch=2.0)
    whole, _, _ = records_of(sent)
    mixed = []
    for message in sent:
        for part in split(message, name):
            mixed.append({**part, "messageId": len(mixed)})
    found, phone, _ = records_of(mixed, step=WAIT)
    assert values(found) == values(whole)
    assert not phone.tally.counts


def test_readings_that_wait_are_bounded_in_number_and_end_with_their_session():
    phone = Phone("test")
    lonely = [entry("gravity", BEGIN + k / 1000, UPRIGHT) for k in range(PENDING + 100)]
    for k in range(0, len(lonely), 1000):
        assert phone.take(json.dumps({"payload": lonely[k : k + 1000]}).encode(), 0.0)
    assert phone.tally.counts == {LONELY: 100}
    late = {"sessionId": "two", "payload": [entry("gyroscope", BEGIN + 9, (1, 2, 3))]}
    assert phone.take(json.dumps(late).encode(), 0.0)
    assert phone.tally.counts == {LONELY: PENDING + 100}
