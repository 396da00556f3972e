"""The messages of a phone: in any order, each once, and nothing that is none."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_agent.sources.base import START
from edge_agent.sources.phone import HELD, LONELY, NONSENSE, OTHER, PATIENCE, SILENCE, TWICE, Phone
from edge_agent.sources.signals import SignalSource
from tests.edge_agent.motion import read, recording, write_recording
from tests.edge_agent.phones import entry, messages
from tests.edge_agent.test_signals import Sensor, ordinals


class Direct(Sensor):
    """A phone whose messages are handed over by the test."""

    def __init__(self):
        super().__init__()
        self.phone = Phone("sensorlogger:test")

    def read(self):
        return self.phone.samples(self.now)


def records_of(sent, step=0.0):
    """What a source makes of messages that come `step` seconds apart, and the phone."""
    reader = Direct()
    source, reader.now = SignalSource(reader, 8.0, 35.0), 0.0
    source.resume(START)
    found = []
    for message in sent:
        assert reader.phone.take(json.dumps(message).encode(), reader.now)
        found += source.poll(64)
        reader.now += step
    reader.now += 10 * PATIENCE
    return found + source.poll(64), reader.phone, source


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
    assert not phone.tally.counts
    assert not [kind for kind in source.tally.counts if "refused" in kind]


@settings(max_examples=40, deadline=None)
@given(st.permutations(range(5)), st.lists(st.integers(0, 9), max_size=6), st.integers(0, 5))
def test_messages_out_of_order_and_repeated_count_once(order, again, where):
    """Any five neighbours may arrive in any order, and any message again at any time."""
    sent = messages(*recording(10))
    whole, _, _ = records_of(sent)
    mixed = sent[:where] + [sent[where + k] for k in order if where + k < len(sent)] + sent[where + 5 :]
    if where == 0:  # whoever starts to listen in the middle takes what comes first for the first
        mixed = [sent[0], *(message for message in mixed if message is not sent[0])]
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


def test_accelerations_without_gravity_are_dropped_and_said(caplog):
    sent = messages(*recording(30), total=False)
    for message in sent:
        message["payload"] = [one for one in message["payload"] if one["name"] != "gravity"]
    found, phone, _ = records_of(sent)
    assert not found
    assert phone.tally.counts[LONELY] == 1500 - 512
    assert "switch on both streams" in caplog.text


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"[1]", b"null", b'{"payload": 3}', b'{"payload": [], "messageId": "x"}', b'{"messageId": 3}',
     b'{"payload": [], "sessionId": []}', b"\xff", b"[" * 50_000, b" " * 2_000_000 + b'{"payload": []}'],
)  # fmt: skip
def test_what_is_no_message_is_refused(raw):
    assert not Phone("test").take(raw, 0.0)


def test_readings_that_are_none_are_dropped_one_by_one():
    good = entry("gyroscope", 1_700_000_000.0, (1, 2, 3))
    bad = [
        {"name": "gyroscope"}, {"name": "gyroscope", "time": 1, "values": []}, {**good, "time": "noon"},
        {**good, "time": 1e300}, {**good, "time": -5}, {**good, "values": {"x": 1, "y": None, "z": 2}},
    ]  # fmt: skip
    others = [7, None, "x", {"name": "test", "time": 0, "values": []}, {"name": ["gyroscope"]}, {}]
    phone = Phone("test")
    assert phone.take(json.dumps({"messageId": 0, "payload": [*bad, *others, good]}).encode(), 0.0)
    (samples,) = phone.samples(0.0)
    np.testing.assert_array_equal(samples.gyro, [[1, 2, 3]])
    assert samples.times == 1_700_000_000.0
    assert phone.tally.counts == {NONSENSE: len(bad)}


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(10**400),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "time", "values", "x", "y", "z"]), inner, max_size=4)
    ),
    max_leaves=8,
)
KEYS = ("messageId", "sessionId", "deviceId", "payload")


@settings(max_examples=200, deadline=None)
@given(st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, JUNK)), max_size=4), st.lists(JUNK, max_size=4))
def test_no_json_upsets_it(found, payload):
    phone = Phone("test")
    entries = [{"name": "gravity", **(one if isinstance(one, dict) else {"values": one})} for one in payload]
    for k, message in enumerate([*found, {"messageId": 1, "payload": entries}]):
        assert phone.take(json.dumps(message).encode(), float(k)) in (True, False)
        for samples in phone.samples(float(k)):
            assert np.isfinite(samples.times).all()
