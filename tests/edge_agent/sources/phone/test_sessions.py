"""Sessions of a phone: a straggler of an earlier one ends nothing, and a new one is never locked out."""

from __future__ import annotations

import json

import pytest

from edge_agent.sources.phone.session import LATE, PATIENCE, SILENCE, TWICE, Phone
from tests.edge_agent.motion import BEGIN, recording
from tests.edge_agent.phones import messages, records_of
from tests.edge_agent.sources.test_windowed import ordinals


def two_sessions(cut=900, seconds=40):
    times, acc, gyro = recording(seconds)
    first = messages(times[:cut], acc[:cut], gyro[:cut], session="one")
    return first, messages(times[cut:], acc[cut:], gyro[cut:], session="two")


@pytest.mark.parametrize("stray", [False, True])
@pytest.mark.parametrize("which", [0, 7, -1])
def test_a_straggler_of_a_session_that_was_never_heard_does_not_end_the_running_one(
    which, stray, caplog
):
    """An agent that was started in the second session; also if one reading of the straggler has a wrong time."""
    first, second = two_sessions()
    alone, _, _ = records_of(second, step=1.0)
    if stray:
        first[which]["payload"][-1]["time"] += 3600 * 10**9
    found, phone, _ = records_of([*second[:6], first[which], *second[6:]], step=1.0)
    assert ordinals(found) == ordinals(alone)
    assert len(found) >= 14
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
        assert bool(phone.samples(float(now))) == (now >= heard + SILENCE + PATIENCE)
    assert phone.tally.counts[LATE] == SILENCE - 1
    assert not phone.tally.counts[TWICE]
    assert "clock was set back" in caplog.text
