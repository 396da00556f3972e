"""The messages of a phone: in any order, each once, and nothing that is none.

A straggler of an earlier session ends nothing, and a new one is never locked out.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_agent.sources.phone.session import (
    LARGEST_BYTES,
    LATE,
    MOST_HELD,
    OTHER,
    PATIENCE_SECONDS,
    SILENCE_SECONDS,
    TOO_LARGE,
    TWICE,
    UNREADABLE,
    Phone,
)
from tests.edge_agent.motion import BEGIN, recording
from tests.edge_agent.sources.phone.phones import entry, messages, named, records_of
from tests.edge_agent.sources.sensors import ordinals

# --- messages -------------------------------------------------------------------------------------


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(st.permutations(range(5)), st.lists(st.integers(0, 9), max_size=6), st.integers(0, 5))
def test_messages_out_of_order_and_repeated_count_once(order, again, where):
    """Any five neighbours in any order, the first ones too, and any message again at any time."""
    sent = messages(*recording(10))
    whole, _, _ = records_of(sent)
    neighbours = [sent[where + k] for k in order if where + k < len(sent)]
    mixed = sent[:where] + neighbours + sent[where + 5 :]
    for at in again:
        mixed.insert(at, mixed[at])
    records, phone, source = records_of(mixed)
    assert records == whole
    assert phone.tally.counts[TWICE] == len(again)
    assert not [kind for kind in source.tally.counts if "refused" in kind]


def test_a_lost_message_costs_its_own_windows_only():
    sent = messages(*recording(30))
    whole, _, _ = records_of(sent)
    records, _, _ = records_of(sent[:10] + sent[11:], step=1.0)
    lost = set(ordinals(whole)) - set(ordinals(records))
    assert 2 <= len(lost) <= 4
    late, phone, _ = records_of([*sent[:10], *sent[11:20], sent[10], *sent[20:]], step=1.0)
    assert late == records
    assert phone.tally.counts[TWICE] == 1


def test_waiting_for_a_message_is_bounded_in_time_and_number():
    sent = messages(*recording(30))
    phone = Phone("test")
    phone.take(json.dumps(sent[0]).encode(), 0.0)
    assert phone.samples(0.0)
    assert phone.due(0.0) == float("inf")
    for k in range(2, 2 + MOST_HELD):
        phone.take(json.dumps(sent[k]).encode(), 1.0)
    assert phone.samples(1.0) == []
    assert phone.due(1.5) == pytest.approx(PATIENCE_SECONDS - 0.5)
    assert phone.samples(1.0 + PATIENCE_SECONDS)
    phone.take(json.dumps(sent[MOST_HELD + 3]).encode(), 10.0)
    for k in range(MOST_HELD + 4, MOST_HELD + 4 + MOST_HELD):
        phone.take(json.dumps(sent[k]).encode(), 10.0)
    assert phone.samples(10.0)


@pytest.mark.parametrize("first", [1, 17])
def test_who_begins_in_mid_session_waits_once(first):
    sent = [
        {**message, "messageId": first + k} for k, message in enumerate(messages(*recording(12)))
    ]
    phone = Phone("test")
    for k in (1, 0):
        phone.take(json.dumps(sent[k]).encode(), 0.1)
    assert phone.samples(0.1) == []
    times = [samples.times[0] for samples in phone.samples(0.1 + PATIENCE_SECONDS)]
    assert times == sorted(times)
    for k in range(2, 12):
        phone.take(json.dumps(sent[k]).encode(), 3.0 + k)
        assert phone.samples(3.0 + k)
    assert not phone.tally.counts[TWICE]


def test_messages_with_other_sensors_alone_count_as_arrived():
    mixed = []
    for message in messages(*recording(12)):
        other = {**message, "payload": [{"name": "location", "time": 1, "values": {}}]}
        mixed += [{**message, "messageId": len(mixed)}, {**other, "messageId": len(mixed) + 1}]
    phone = Phone("test")
    for k, message in enumerate(mixed):
        phone.take(json.dumps(message).encode(), k / 2)
        assert bool(phone.samples(k / 2)) == (k % 2 == 0)
        assert phone.due(k / 2) == float("inf")


def test_the_button_test_disturbs_no_session():
    sent = messages(*recording(12))
    whole, _, _ = records_of(sent)
    test = named(0, [{"name": "test", "time": 1}], session="test", device="any")
    mixed = [test, *sent[:6], test, {**test, "deviceId": "phone"}, *sent[6:]]
    records, phone, _ = records_of(mixed)
    assert records == whole
    assert not phone.tally.counts[TWICE] + phone.tally.counts[OTHER]


def test_another_recording_and_another_phone():
    times, acc, gyro = recording(40)
    first = messages(times[:900], acc[:900], gyro[:900], session="one")
    second = messages(times[900:], acc[900:], gyro[900:], session="two")
    whole, _, _ = records_of(messages(times, acc, gyro))
    records, phone, _ = records_of([*first, *second, first[3]])
    assert ordinals(records) == ordinals(whole)
    assert phone.tally.counts[TWICE] == 1
    stranger = messages(*recording(40, seed=5), device="other", session="three")
    mixed = [message for pair in zip(first, stranger, strict=False) for message in pair]
    alone, _, _ = records_of(first)
    records, phone, _ = records_of(mixed)
    assert records == alone
    assert phone.tally.counts[OTHER] == len(first)
    assert phone.take(json.dumps(stranger[0]).encode(), phone._heard + SILENCE_SECONDS)
    assert phone.samples(phone._heard)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[1]",
        b"null",
        b'{"payload": 3}',
        b'{"payload": [], "messageId": "x"}',
        b'{"messageId": 3}',
        b'{"payload": [], "messageId": -1}',
        b'{"payload": [], "sessionId": []}',
        b"\xff",
        b"[" * 50_000,
        b'{"payload": [], "messageId": 9007199254740992}',
        b'{"payload": [], "messageId": ' + b"9" * 5000 + b"}",
    ],
)
def test_what_is_no_message_is_refused_and_counted(raw):
    phone = Phone("test")
    assert not phone.take(raw, 0.0)
    assert phone.tally.counts == {UNREADABLE: 1}


def test_a_message_that_is_too_large_is_refused_for_that_reason(caplog):
    phone = Phone("test")
    assert not phone.take(b'{"payload": []}' + b" " * LARGEST_BYTES, 0.0)
    assert phone.tally.counts == {TOO_LARGE: 1}
    assert "send smaller batches" in caplog.text
    assert "1048591 bytes" in caplog.text


@pytest.mark.parametrize(
    "strange", [b"9" * 5000, b"-" + b"9" * 5000, b"1e999", b'"\xff\xfe"', b'"\x00\n"', b'"\\ud800"']
)
@pytest.mark.parametrize("key", ["x", "time", "name"])
def test_a_strange_value_costs_its_own_reading_alone(strange, key):
    """One reading may change two records, whatever is in it."""
    good = [entry("gyroscope", BEGIN + k / 50, (1, 2, 3)) for k in range(3)]
    changed = good[1] if key != "x" else good[1]["values"]
    changed[key] = "HERE"
    raw = json.dumps({"messageId": 0, "payload": good}).encode().replace(b'"HERE"', strange)
    phone = Phone("test")
    assert phone.take(raw, 0.0)
    (samples,) = phone.samples(0.0)
    kept = [0, 1, 2] if key == "x" else [0, 2]  # without a number it keeps its place in time
    np.testing.assert_array_equal(samples.times, [good[k]["time"] / 1e9 for k in kept])
    assert np.isfinite(samples.gyro).all(axis=1).tolist() == [k != 1 for k in kept]


NAMES = st.sampled_from(["name", "time", "values", "x", "y", "z"])
SCALARS = st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(10**400)
JUNK = st.recursive(
    st.none() | SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=8,
)
KEYS = ("messageId", "sessionId", "deviceId", "payload")
MESSAGES = st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, JUNK))


@settings(max_examples=200, deadline=None)
@given(st.lists(MESSAGES, max_size=4), st.lists(JUNK, max_size=4))
def test_no_json_upsets_it(sent, payload):
    phone = Phone("test")
    entries = [
        {"name": "gravity", **(one if isinstance(one, dict) else {"values": one})}
        for one in payload
    ]
    for k, message in enumerate([*sent, {"messageId": 1, "payload": entries}]):
        assert phone.take(json.dumps(message).encode(), float(k)) in (True, False)
        for samples in phone.samples(float(k)):
            assert np.isfinite(samples.times).all()


# --- sessions -------------------------------------------------------------------------------------


def two_sessions(cut=900, seconds=40):
    times, acc, gyro = recording(seconds)
    first = messages(times[:cut], acc[:cut], gyro[:cut], session="one")
    return first, messages(times[cut:], acc[cut:], gyro[cut:], session="two")


@pytest.mark.parametrize("stray", [False, True])
@pytest.mark.parametrize("which", [0, 7, -1])
def test_a_straggler_of_a_session_that_was_never_heard_does_not_end_the_running_one(
    which, stray, caplog
):
    """An agent that was started in the second session.

    Also if one reading of the straggler has a wrong time.
    """
    first, second = two_sessions()
    alone, _, _ = records_of(second, step=1.0)
    if stray:
        first[which]["payload"][-1]["time"] += 3600 * 10**9
    records, phone, _ = records_of([*second[:6], first[which], *second[6:]], step=1.0)
    assert ordinals(records) == ordinals(alone)
    assert len(records) >= 14
    assert phone.tally.counts[LATE] == 1
    assert not phone.tally.counts[TWICE]
    assert "too late" in caplog.text


@pytest.mark.parametrize("stray", [False, True])
def test_a_new_session_begins_at_once(stray):
    """Also if one reading of the last message before it was dated ahead."""
    first, second = two_sessions()
    if stray:
        first[-1]["payload"][-1]["time"] += 3600 * 10**9
    phone = Phone("test")
    for k, message in enumerate(first + second):
        phone.take(json.dumps(message).encode(), float(k))
        assert phone.samples(float(k))
    assert not phone.tally.counts[LATE]


def test_a_session_after_a_clock_was_set_back_is_let_in_when_the_other_one_is_silent(caplog):
    before = messages(*recording(5, start=BEGIN + 3600.0), session="one")
    after = messages(*recording(90), session="two")
    phone = Phone("test")
    for k, message in enumerate(before):
        phone.take(json.dumps(message).encode(), float(k))
        assert phone.samples(float(k))
    heard = len(before) - 1
    for k, message in enumerate(after):
        now = len(before) + k
        phone.take(json.dumps(message).encode(), float(now))
        assert bool(phone.samples(float(now))) == (
            now >= heard + SILENCE_SECONDS + PATIENCE_SECONDS
        )
    assert phone.tally.counts[LATE] == SILENCE_SECONDS - 1
    assert not phone.tally.counts[TWICE]
    assert "clock was set back" in caplog.text
