"""`mqtt:@FILE`: a record at each tick of the clock, and no message in more than it says."""

from __future__ import annotations

from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_agent.consent.admission import Feed
from edge_agent.errors import SourceError
from edge_agent.records import Position
from edge_agent.sources import open_source
from edge_agent.sources.base import Options
from tests.edge_agent.sources.home.homes import OPTIONS, START_SECONDS, Heard, template

HOME = """
every = 100
max_age = 300

[values.kitchen]
topic = "homeassistant/sensor/kitchen_temperature/state"

[values.motion]
topic = "homeassistant/binary_sensor/hall_motion/state"
words = { on = 1, off = 0 }
max_age = 100
otherwise = 0

[values.humidity]
topic = "zigbee2mqtt/bath"
path = "humidity"
"""
KITCHEN, MOTION, BATH = (
    "homeassistant/sensor/kitchen_temperature/state",
    "homeassistant/binary_sensor/hall_motion/state",
    "zigbee2mqtt/bath",
)
FIRST = int(START_SECONDS // 100) + 1  # the number of the first record


@pytest.fixture
def home(tmp_path):
    with closing(Heard(template(tmp_path, HOME))) as source:
        yield source


def shown(records):
    return [(record.position.ordinal - FIRST, dict(record.x)) for record in records]


def test_a_record_holds_what_was_last_said_on_each_topic(home):
    home.hear(KITCHEN, "20.5")
    home.hear(KITCHEN, "21.5")
    home.hear(MOTION, "on")
    home.hear(BATH, '{"humidity": 60, "linkquality": 9}')
    home.hear("homeassistant/sensor/else/state", "7")
    assert home.after(99) == []
    assert shown(home.after(1)) == [(0, {"kitchen": 21.5, "motion": 1, "humidity": 60})]
    home.hear(BATH, '{"linkquality": 9}')  # says nothing about humidity
    assert shown(home.after(100)) == [(1, {"kitchen": 21.5, "motion": 0, "humidity": 60})]
    home.hear(BATH, '{"humidity": 61}')
    home.hear(KITCHEN, "unavailable")
    assert shown(home.after(100)) == [(2, {"kitchen": "unavailable", "motion": 0, "humidity": 61})]


def test_a_value_is_used_no_longer_than_it_may(home):
    home.hear(KITCHEN, "20.5")
    seen = [shown(home.after(100)) for _ in range(5)]
    known = {"kitchen": 20.5, "motion": 0}
    later = {"motion": 0}
    assert seen == [[(0, known)], [(1, known)], [(2, known)], [(3, later)], [(4, later)]]


def test_there_is_a_record_at_each_tick_whatever_has_come(home):
    assert [shown(home.after(50)) for _ in range(4)] == [
        [],
        [(0, {"motion": 0})],
        [],
        [(1, {"motion": 0})],
    ]


def test_what_comes_at_the_tick_is_for_the_next_record(home):
    """Also if it is read before the record was made."""
    home.hear(KITCHEN, "1")
    home.now += 100
    home.hear(KITCHEN, "2")
    assert shown(home.poll(16)) == [(0, {"kitchen": 1, "motion": 0})]
    assert shown(home.after(100)) == [(1, {"kitchen": 2, "motion": 0})]


def test_what_the_broker_has_retained_is_not_taken(home):
    """It may have stood in records of an earlier run."""
    home.hear(KITCHEN, "20.5", retain=True)
    assert shown(home.after(100)) == [(0, {"motion": 0})]


def test_a_device_that_slept_passes_by_what_was_due(home, caplog):
    home.hear(KITCHEN, "20.5")
    assert shown(home.after(250)) == [(1, {"kitchen": 20.5, "motion": 0})]
    assert "1 records passed by: the device was asleep" in caplog.text


def test_no_number_is_given_out_twice_whatever_the_clock_does(home, caplog):
    assert len(home.after(100)) == 1
    for step in (-500, 100, 100, 100, 100, 99):
        assert home.after(step) == []
    assert shown(home.after(101)) == [(1, {"motion": 0})]
    assert caplog.text.count("times the clock went back") == 1


def test_after_a_restart_it_numbers_on(tmp_path):
    path = template(tmp_path, HOME)
    with closing(Heard(path)) as source:
        (record,) = source.after(100)
    with closing(Heard(path, START_SECONDS + 130)) as source:
        source.resume(record.position)
        assert shown(source.after(70)) == [(1, {"motion": 0})]
    with closing(Heard(path, START_SECONDS + 30)) as source:  # the clock was set back meanwhile
        source.resume(record.position)
        assert source.after(100) == []
        assert shown(source.after(100)) == [(1, {"motion": 0})]


def test_its_name_says_where_and_how_often(home, tmp_path):
    """At another pace records have other numbers: it is another source."""
    feed = Feed.of(home)
    assert feed.name == f"mqtt:@{tmp_path.resolve()}/home.toml every 100 s"
    assert (feed.lasts, feed.replayable, feed.unit_records) == (True, False, 3)


def test_it_wakes_for_the_next_tick(home):
    home.now += 30
    assert home.delay() <= 70
    home.now += 70
    home._tick()
    assert home.delay() == 0
    assert home.fileno() is None


def test_words_that_nobody_knows_are_said(home, caplog):
    home.hear(MOTION, "perhaps")
    home.hear(MOTION, "x" * (5 * 2**20))
    assert "1 messages not used: not a word that the template knows" in caplog.text
    assert "the last one for motion" in caplog.text
    assert "1 messages not used: longer than" in caplog.text


def test_the_address_finds_it_and_useless_options_are_refused(tmp_path):
    path = template(tmp_path, HOME)
    with closing(open_source(f"mqtt:@{path}", OPTIONS)) as source:
        assert source.unit_records == 3
    for options, fault in (
        (Options(), "--source-broker"),
        (Options(broker=OPTIONS.broker, record_id="seq"), "--record-id seq"),
        (Options(broker=OPTIONS.broker, time_column="t"), "--time-column t"),
    ):
        with pytest.raises(SourceError, match=fault):
            open_source(f"mqtt:@{path}", options)


# What one message can change: the clock, the messages and their contents are anything.
CONTENT = st.sampled_from(["1", "2", "on", "off", "", '{"humidity": 5}', '{"humidity": 6}', "{}"])
EVENTS = st.lists(
    st.tuples(
        st.sampled_from([0, 1, 30, 99, 100, 101, 250, -150]),
        st.sampled_from([KITCHEN, MOTION, BATH]),
        CONTENT,
    ),
    min_size=1,
    max_size=25,
)


def told(path, events):
    with closing(Heard(path)) as source:
        records = []
        for step, topic, content in events:
            records += source.after(step)
            source.hear(topic, content)
            records += source.poll(16)
        for _ in range(8):
            records += source.after(100)
    return records


@settings(deadline=None, max_examples=300)
@given(events=EVENTS, which=st.integers(0, 24), other=CONTENT)
def test_one_message_changes_no_more_records_than_it_says(tmp_path_factory, events, which, other):
    path = template(tmp_path_factory.mktemp("home"), HOME)
    which = which % len(events)
    step, topic, _ = events[which]
    changed = [*events[:which], (step, topic, other), *events[which + 1 :]]
    one = told(path, events)
    two = told(path, changed)
    assert [record.position for record in one] == [record.position for record in two]
    ordinals = [record.position.ordinal for record in one]
    assert ordinals == sorted(set(ordinals))
    differ = [k for k, a, b in zip(ordinals, one, two, strict=True) if dict(a.x) != dict(b.x)]
    assert not differ or differ[-1] - differ[0] < 3


def test_a_position_without_a_cursor_is_enough(home):
    home.resume(Position(FIRST + 5))
    assert home.after(600) == []
    assert shown(home.after(100)) == [(6, {"motion": 0})]
