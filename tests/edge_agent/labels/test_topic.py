"""Labels as messages: what is kept, and what is said about the rest."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.labels import file as label_file
from edge_agent.labels.timeline import EXPIRES, Event
from edge_agent.labels.topic import LabelTopic, NoLabelError, event_of
from fsir.net.broker import Broker
from tests.fsir.tasks import task


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (b"walking", Event(100.0, "walking", 100.0 + EXPIRES)),
        (b' "walking" ', Event(100.0, "walking", 100.0 + EXPIRES)),
        (b"3", Event(100.0, "3", 100.0 + EXPIRES)),
        (b"", Event(100.0, "", 100.0 + EXPIRES)),
        (b'{"label": "sitting"}', Event(100.0, "sitting", 100.0 + EXPIRES)),
        (b'{"label": "sitting", "time": 40}', Event(40.0, "sitting", 100.0 + EXPIRES)),
        (b'{"label": "sitting", "time": 5000}', Event(5000.0, "sitting", 5000.0 + EXPIRES)),
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


class Heard:
    """A label topic whose messages are handed over directly, for a device with the tasks given."""

    def __init__(self, directory, *agents):
        self.directory = directory
        self.topic = LabelTopic(
            Broker("127.0.0.1", 9), "home/me", directory, agents, clock=lambda: 1e9
        )

    def hear(self, *payloads, retain=False):
        for payload in payloads:
            self.topic._take(SimpleNamespace(payload=payload, retain=retain))
        path = self.directory / label_file.FILE
        return (
            [Event.decode(line).label for line in path.read_bytes().splitlines()]
            if path.exists()
            else []
        )


def on(of=None, reason=""):
    return SimpleNamespace(task=of, reason=reason)


def test_labels_that_nobody_can_use_are_not_kept_and_said_once_each(tmp_path, caplog):
    heard = Heard(
        tmp_path, on(task()), on(task(response={"classes": ["d", "e"]})), on(reason="refused")
    )
    late = [b'{"label": "a", "time": %d}' % (10**12 + k) for k in range(3000)]
    assert heard.hear(*late, b"flying", b"flying", b"fliyng", b"x" * 9999) == []
    assert heard.hear(b"a", b"e", b"", b"flying") == ["a", "e", ""]
    assert caplog.text.count("milliseconds") == 1
    assert "home/me: not kept: time 1000000000000: send seconds" in caplog.text
    assert (
        caplog.text.count("a label that no task of this device knows: known are a, b, c, d, e") == 1
    )
    assert caplog.text.count("a message of 9999 bytes: send a label, at most 4096 bytes") == 1
    assert "flying" not in caplog.text  # what a person does is nobody's business in a log
    assert heard.hear(b"flying", retain=True) == ["a", "e", ""]


def test_a_label_is_kept_while_a_task_is_on_its_way_and_for_tasks_of_numbers(tmp_path):
    assert Heard(tmp_path, on(task()), on()).hear(b"flying") == ["flying"]
    (tmp_path / "other").mkdir()
    of = task(response={"classes": None, "cuts": [0.0, 1.0]})
    assert Heard(tmp_path / "other", on(of)).hear(b"0.5", b"fast") == ["0.5"]


def test_a_retained_message_counts_only_with_its_time():
    assert event_of(b"walking", 100.0, retained=True) is None
    timed = b'{"label": "walking", "time": 90}'
    assert event_of(timed, 100.0, retained=True) == Event(90.0, "walking", 90.0 + EXPIRES)


def test_a_label_about_the_past_holds_when_it_arrives_and_no_connection_changes_its_expiry(
    tmp_path,
):
    heard = Heard(tmp_path, on(task()))
    hour_ago = b'{"label": "a", "time": %d}' % (10**9 - 3600)
    heard.hear(hour_ago)
    heard.hear(hour_ago, hour_ago, retain=True)
    (line,) = (tmp_path / label_file.FILE).read_bytes().splitlines()
    assert Event.decode(line).until == 1e9 + EXPIRES


def test_a_label_from_long_ago_must_say_how_long_it_lasted():
    with pytest.raises(NoLabelError, match="more than 30 days ago"):
        event_of(b'{"label": "a", "time": 40}', 1e9)
    assert event_of(b'{"label": "a", "time": 40, "for": 60}', 1e9) == Event(40.0, "a", 100.0)


@given(st.binary(max_size=200))
def test_any_message_is_a_sound_event_or_none(payload):
    with contextlib.suppress(NoLabelError):
        event = event_of(payload, 100.0)
        assert Event.decode(event.encode()) == event
