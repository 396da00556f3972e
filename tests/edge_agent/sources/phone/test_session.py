"""The messages of a phone: in any order, each once, and nothing that is none."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_agent.sources.phone.session import (
    HELD,
    LARGEST,
    OTHER,
    PATIENCE,
    SILENCE,
    TOO_LARGE,
    TWICE,
    UNREADABLE,
    Phone,
)
from tests.edge_agent.motion import BEGIN, recording
from tests.edge_agent.phones import entry, messages, records_of
from tests.edge_agent.sources.test_windowed import ordinals


@settings(max_examples=40, deadline=None)
@given(st.permutations(range(5)), st.lists(st.integers(0, 9), max_size=6), st.integers(0, 5))
def test_messages_out_of_order_and_repeated_count_once(order, again, where):
    """Any five neighbours may arrive in any order, the first ones too, and any message again at any time."""
    sent = messages(*recording(10))
    whole, _, _ = records_of(sent)
    mixed = (
        sent[:where] + [sent[where + k] for k in order if where + k < len(sent)] + sent[where + 5 :]
    )
    for at in again:
        mixed.insert(at, mixed[at])
    found, phone, source = records_of(mixed)
    assert found == whole
    assert phone.tally.counts[TWICE] == len(again)
    assert not [kind for kind in source.tally.counts if "refused" in kind]


def test_a_lost_message_costs_its_own_windows_only():
    sent = messages(*recording(30))
    whole, _, _ = records_of(sent)
    found, _, _ = records_of(sent[:10] + sent[11:], step=1.0)
    lost = set(ordinals(whole)) - set(ordinals(found))
    assert 2 <= len(lost) <= 4
    late, phone, _ = records_of([*sent[:10], *sent[11:20], sent[10], *sent[20:]], step=1.0)
    assert late == found
    assert phone.tally.counts[TWICE] == 1


def test_waiting_for_a_message_is_bounded_in_time_and_number():
    sent = messages(*recording(30))
    phone = Phone("test")
    phone.take(json.dumps(sent[0]).encode(), 0.0)
    assert phone.samples(0.0)
    assert phone.due(0.0) == float("inf")
    for k in range(2, 2 + HELD):
        phone.take(json.dumps(sent[k]).encode(), 1.0)
    assert phone.samples(1.0) == []
    assert phone.due(1.5) == pytest.approx(PATIENCE - 0.5)
    assert phone.samples(1.0 + PATIENCE)
    phone.take(json.dumps(sent[HELD + 3]).encode(), 10.0)
    for k in range(HELD + 4, HELD + 4 + HELD):
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
    times = [samples.times[0] for samples in phone.samples(0.1 + PATIENCE)]
    assert times == sorted(times)
    for k in range(2, 12):
        phone.take(json.dumps(sent[k]).encode(), 3.0 + k)
        assert phone.samples(3.0 + k)
    assert not phone.tally.counts[TWICE]


def test_messages_with_other_sensors_alone_count_as_arrived():
    sent, mixed = messages(*recording(12)), []
    for message in sent:
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
    test = {
        "messageId": 0,
        "sessionId": "test",
        "deviceId": "any",
        "payload": [{"name": "test", "time": 1}],
    }
    found, phone, _ = records_of([test, *sent[:6], test, {**test, "deviceId": "phone"}, *sent[6:]])
    assert found == whole
    assert not phone.tally.counts[TWICE] + phone.tally.counts[OTHER]


def test_another_recording_and_another_phone():
    times, acc, gyro = recording(40)
    first = messages(times[:900], acc[:900], gyro[:900], session="one")
    second = messages(times[900:], acc[900:], gyro[900:], session="two")
    whole, _, _ = records_of(messages(times, acc, gyro))
    found, phone, _ = records_of([*first, *second, first[3]])
    assert ordinals(found) == ordinals(whole)
    assert phone.tally.counts[TWICE] == 1
    stranger = messages(*recording(40, seed=5), device="other", session="three")
    mixed = [message for pair in zip(first, stranger, strict=False) for message in pair]
    alone, _, _ = records_of(first)
    found, phone, _ = records_of(mixed)
    assert found == alone
    assert phone.tally.counts[OTHER] == len(first)
    assert phone.take(json.dumps(stranger[0]).encode(), phone._heard + SILENCE)
    assert phone.samples(phone._heard)


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"[1]", b"null", b'{"payload": 3}', b'{"payload": [], "messageId": "x"}', b'{"messageId": 3}',
     b'{"payload": [], "messageId": -1}', b'{"payload": [], "sessionId": []}', b"\xff", b"[" * 50_000,
     b'{"payload": [], "messageId": 9007199254740992}', b'{"payload": [], "messageId": ' + b"9" * 5000 + b"}"],
)  # fmt: skip
def test_what_is_no_message_is_refused_and_counted(raw):
    phone = Phone("test")
    assert not phone.take(raw, 0.0)
    assert phone.tally.counts == {UNREADABLE: 1}


def test_a_message_that_is_too_large_is_refused_for_that_reason(caplog):
    phone = Phone("test")
    assert not phone.take(b'{"payload": []}' + b" " * LARGEST, 0.0)
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


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.just(10**400),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "time", "values", "x", "y", "z"]), inner, max_size=4
        )
    ),
    max_leaves=8,
)
KEYS = ("messageId", "sessionId", "deviceId", "payload")


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, JUNK)), max_size=4),
    st.lists(JUNK, max_size=4),
)
def test_no_json_upsets_it(found, payload):
    phone = Phone("test")
    entries = [
        {"name": "gravity", **(one if isinstance(one, dict) else {"values": one})}
        for one in payload
    ]
    for k, message in enumerate([*found, {"messageId": 1, "payload": entries}]):
        assert phone.take(json.dumps(message).encode(), float(k)) in (True, False)
        for samples in phone.samples(float(k)):
            assert np.isfinite(samples.times).all()
