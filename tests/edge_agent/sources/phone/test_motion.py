"""Which acceleration of a phone counts, and what its owner reads in the log about it.

A stray reading costs its own windows alone.
"""

from __future__ import annotations

import json
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_agent.sources.phone.motion import (
    ASIDE,
    LONELY,
    MOST_PENDING,
    NO_ACCELERATION,
    NO_ROTATION,
    WAIT_SECONDS,
)
from edge_agent.sources.phone.session import SILENCE_SECONDS, Phone
from tests.edge_agent.motion import BEGIN, read, recording, write_recording
from tests.edge_agent.sources.phone.phones import (
    ACCELERATION,
    UPRIGHT,
    entry,
    messages,
    records_of,
    values,
    without,
)
from tests.edge_agent.sources.sensors import ordinals


@pytest.mark.parametrize("total", [True, False])
@pytest.mark.parametrize("batch", [0.2, 1.0, 5.0])
def test_a_phone_gives_the_windows_of_its_samples(tmp_path, total, batch):
    times, acc, gyro = recording(20, rate=100.0, jitter=0.001)
    expected, _ = read(write_recording(tmp_path / "same.csv", times, acc, gyro))
    records, phone, source = records_of(messages(times, acc, gyro, total, batch))
    assert ordinals(records) == ordinals(expected)
    assert len(records) == 14
    for mine, other in zip(records, expected, strict=True):
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
        records, phone, _ = records_of(sent if shift else without(sent, "gravity"), step=1.0)
        assert records == alone
        assert set(phone.tally.counts) == {ASIDE}
    said = [record for record in caplog.records if ASIDE in record.getMessage()]
    assert not [record for record in said if record.levelname != "INFO"]


# --- which acceleration: decided locally ----------------------------------------------------------


def changed(some, others):
    """The numbers of the windows that differ."""
    ours = values(some)
    theirs = values(others)
    return {k for k in ours.keys() | theirs.keys() if ours.get(k) != theirs.get(k)}


@pytest.mark.long
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
    names = ("accelerometer", "gravity") if total else ("totalacceleration",)
    others = ("barometer", "accelerometeruncalibrated", *names)
    sent = without(messages(times, acc, gyro, total=total, batch=batch), *others)
    clean, _, _ = records_of(sent)
    stray_time = times[at] + aside / 1e3 / 2
    due = round(times[at] * 1e9)
    message = next(one for one in sent if one["payload"][-1]["time"] >= due)
    stray = [entry(name, stray_time, (1.0, 2.0, 3.0)) for name in names]
    message["payload"] = message["payload"] + stray if last else stray + message["payload"]
    records, _, _ = records_of(sent)
    block = int(round(stray_time * 1e9) // 1_280_000_000)
    assert changed(clean, records) <= {block - 1, block}


@pytest.mark.parametrize(("device", "step"), [("phone", 1.0), ("other", SILENCE_SECONDS)])
def test_another_session_or_phone_starts_anew(device, step):
    times, acc, gyro = recording(24)
    half = len(times) // 2
    first = messages(times[:half], acc[:half], gyro[:half], total=True)
    second = messages(
        times[half:], acc[half:], gyro[half:], total=False, session="two", device=device
    )
    alone, _, _ = records_of(second)
    records, phone, _ = records_of(first + second, step=step)
    assert len(alone) >= 6
    assert records[-len(alone) :] == alone
    assert set(phone.tally.counts) == {ASIDE}


def test_a_total_acceleration_that_ends_gives_way_to_the_sums():
    times, acc, gyro = recording(24)
    sent = messages(times, acc, gyro)
    whole, _, _ = records_of(sent)
    records, _, _ = records_of(sent[:10] + without(sent[10:], "totalacceleration"))
    assert len(set(ordinals(whole)) - set(ordinals(records))) <= 2
    assert ordinals(records)[-6:] == ordinals(whole)[-6:]


# --- accelerometer and gravity --------------------------------------------------------------------


def split(message, *names):
    """A message in two: the streams of these names, and the others."""
    payload = defaultdict(list)
    for one in message["payload"]:
        payload[one["name"] in names].append(one)
    return {**message, "payload": payload[True]}, {**message, "payload": payload[False]}


def test_accelerations_without_gravity_are_dropped_and_said(caplog):
    sent = without(messages(*recording(30), total=False), "gravity")
    records, phone, _ = records_of(sent, step=1.0)
    assert not records
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
    records, phone, _ = records_of(mixed, step=WAIT_SECONDS)
    assert values(records) == values(whole)
    assert not phone.tally.counts


def test_readings_that_wait_are_bounded_in_number_and_end_with_their_session():
    phone = Phone("test")
    lonely = [entry("gravity", BEGIN + k / 1000, UPRIGHT) for k in range(MOST_PENDING + 100)]
    for k in range(0, len(lonely), 1000):
        assert phone.take(json.dumps({"payload": lonely[k : k + 1000]}).encode(), 0.0)
    assert phone.tally.counts == {LONELY: 100}
    late = {"sessionId": "two", "payload": [entry("gyroscope", BEGIN + 9, (1, 2, 3))]}
    assert phone.take(json.dumps(late).encode(), 0.0)
    assert phone.tally.counts == {LONELY: MOST_PENDING + 100}


# --- the log --------------------------------------------------------------------------------------


def test_what_every_android_phone_does_is_said_once(caplog):
    caplog.set_level("INFO")
    _, phone, _ = records_of(messages(*recording(20)))
    assert phone.tally.counts == {ASIDE: 2000}
    said = [record.levelname for record in caplog.records if ASIDE in record.getMessage()]
    assert said == ["INFO"]


@pytest.mark.parametrize("total", [True, False])
@pytest.mark.parametrize(
    ("off", "kind", "remedy"),
    [
        (("gyroscope",), NO_ROTATION, "switch on Gyroscope"),
        (ACCELERATION, NO_ACCELERATION, "switch on Accelerometer and Gravity"),
    ],
)
def test_a_sensor_that_is_off_is_named_once(off, kind, remedy, total, caplog):
    sent = without(messages(*recording(60), total=total), *off)
    short, phone, _ = records_of(sent[:10], step=1.0)
    assert not phone.tally.counts[kind]
    records, phone, _ = records_of(sent, step=1.0)
    assert not short + records
    assert phone.tally.counts[kind] == 1
    said = [record.levelname for record in caplog.records if remedy in record.getMessage()]
    assert said == ["WARNING"]


@pytest.mark.parametrize("batch", [1.0, 20.0])
def test_sensors_that_take_turns_are_not_missed(batch):
    """In messages of their own, with others that hold neither; or in turn in a long message."""
    sent = messages(*recording(60), batch=batch)
    if batch == 1.0:
        parts = [
            without([one], *off)[0] for one in sent for off in (("gyroscope",), (), ACCELERATION)
        ]
        parts[1::3] = without(parts[1::3], "gyroscope", *ACCELERATION)
        sent = [{**one, "messageId": k} for k, one in enumerate(parts)]
    _, phone, _ = records_of(sent, step=0.3)
    assert set(phone.tally.counts) == {ASIDE}


def test_a_single_reading_with_a_wrong_time_makes_no_sensor_missing():
    sent = without(messages(*recording(5)), "gyroscope")
    sent[2]["payload"][-1]["time"] += 3600 * 10**9
    _, phone, _ = records_of(sent)
    assert set(phone.tally.counts) <= {ASIDE}
