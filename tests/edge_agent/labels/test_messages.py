"""What a message on the label topic means."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.labels.messages import NoLabelError, event_of
from edge_agent.labels.timeline import EXPIRES_SECONDS, Event


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (b"walking", Event(100.0, "walking", 100.0 + EXPIRES_SECONDS)),
        (b' "walking" ', Event(100.0, "walking", 100.0 + EXPIRES_SECONDS)),
        (b"3", Event(100.0, "3", 100.0 + EXPIRES_SECONDS)),
        (b"", Event(100.0, "", 100.0 + EXPIRES_SECONDS)),
        (b'{"label": "sitting"}', Event(100.0, "sitting", 100.0 + EXPIRES_SECONDS)),
        (b'{"label": "sitting", "time": 40}', Event(40.0, "sitting", 100.0 + EXPIRES_SECONDS)),
        (b'{"label": "sitting", "time": 5000}', Event(5000.0, "sitting", 5000.0 + EXPIRES_SECONDS)),
        (b'{"label": "sitting", "time": 40, "for": 10}', Event(40.0, "sitting", 50.0)),
        (
            b'{"label": "sitting", "time": 86500, "for": 2592000}',
            Event(86500.0, "sitting", 86500.0 + 30 * 86400),
        ),
    ],
)
def test_messages(payload, expected):
    assert event_of(payload, 100.0) == expected


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b'{"label": null}', "no label: send a text"),
        (b'{"label": "' + b"x" * 300 + b'"}', "at most 200 characters"),
        (b'{"label": "a", "time": "yesterday"}', "time 'yesterday': send seconds since the epoch"),
        (b'{"label": "a", "time": NaN}', "time nan: send seconds"),
        (b'{"label": "a", "time": -1}', "time -1: send seconds"),
        (
            b'{"label": "a", "time": 1700000000000}',
            "time 1700000000000: send seconds since the epoch, not milliseconds",
        ),
        (b'{"label": "a", "time": 1' + b"0" * 400 + b"}", "not milliseconds"),
        (b'{"label": "a", "for": -1}', "for -1: send seconds, above 0"),
        (b'{"label": "a", "for": 1e300}', "at most 2592000"),
        (b'{"label": "a", "for": null}', "for None"),
        (b"x" * 5000, "5000 bytes"),
    ],
)
def test_messages_that_are_of_no_use_say_why(payload, reason):
    with pytest.raises(NoLabelError, match=reason):
        event_of(payload, 100.0)


def test_a_retained_message_counts_only_with_its_time():
    assert event_of(b"walking", 100.0, retained=True) is None
    timed = b'{"label": "walking", "time": 90}'
    assert event_of(timed, 100.0, retained=True) == Event(90.0, "walking", 90.0 + EXPIRES_SECONDS)


def test_a_label_from_long_ago_must_say_how_long_it_lasted():
    with pytest.raises(NoLabelError, match="more than 30 days ago"):
        event_of(b'{"label": "a", "time": 40}', 1e9)
    assert event_of(b'{"label": "a", "time": 40, "for": 60}', 1e9) == Event(40.0, "a", 100.0)


@given(st.binary(max_size=200))
def test_any_message_is_a_sound_event_or_none(payload):
    with contextlib.suppress(NoLabelError):
        event = event_of(payload, 100.0)
        assert Event.decode(event.encode()) == event
