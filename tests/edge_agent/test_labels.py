"""Labels: which record gets which, where they come from, and that a record waits for its own without being lost."""

from __future__ import annotations

import stat
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent import label_file
from edge_agent.label_file import Tail
from edge_agent.label_topic import event_of
from edge_agent.labels import EXPIRES, REMEMBERED, Event, Timeline

moments = st.integers(0, 15).map(float)
events = st.builds(
    lambda time, label, lasts: Event(time, label, time + lasts),
    moments, st.sampled_from(["a", "b", ""]), st.integers(1, 12).map(float),
)  # fmt: skip


def said_at(history: list[Event], moment: float) -> str:
    """The plain meaning: the last event at or before the moment holds, if it has not expired."""
    begun = [event for event in history if event.time <= moment]
    if not begun:
        return ""
    newest = max(event.time for event in begun)
    latest = [event for event in begun if event.time == newest][-1]
    return latest.label if moment < latest.until else ""


@given(st.lists(events, max_size=12), moments, st.integers(0, 10).map(float))
def test_a_label_holds_for_a_record_only_if_it_holds_at_every_moment_of_it(history, first, length):
    timeline = Timeline()
    for event in history:
        timeline.add(event)
    # All that happens happens at whole seconds: between them nothing changes.
    everywhere = {said_at(history, first + half / 2) for half in range(int(length) * 2 + 1)}
    expected = everywhere.pop() if len(everywhere) == 1 else ""
    assert timeline.over(first, first + length) == expected


def test_the_memory_for_events_is_bounded():
    timeline = Timeline()
    for k in range(REMEMBERED + 5):
        timeline.add(Event(float(k), "a", k + 0.5))
    assert [timeline.over(float(k), float(k)) for k in (4, 5)] == ["", "a"]


# --- the file ---------------------------------------------------------------------------------------------------------


def read(directory):
    tail = Tail(directory)
    tail.refresh()
    return tail


def test_what_is_appended_is_read_by_others_at_once_and_after_a_restart(tmp_path):
    tail = read(tmp_path)
    assert tail.timeline.over(10.0, 11.0) == ""
    label_file.append(tmp_path, Event(5.0, "a", 100.0))
    tail.refresh()
    label_file.append(tmp_path, Event(50.0, "ü", 100.0))
    tail.refresh()
    for each in (tail, read(tmp_path)):
        assert [each.timeline.over(t, t + 1) for t in (10.0, 49.5, 60.0)] == ["a", "", "ü"]
    assert stat.S_IMODE((tmp_path / label_file.FILE).stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "broken",
    [b"{", b"[]", b"null", b"\xff\xfe", b'{"time": "x", "label": "a", "until": 9}', b'{"time": 1, "label": 3}',
     b'{"time": NaN, "label": "a", "until": 9}', b'{"time": 1, "label": "' + b"x" * 300 + b'", "until": 9}',
     b'{"time": 1e999, "label": "a", "until": 9}', b"[" * 100_000],
)  # fmt: skip
def test_broken_lines_are_harmless(tmp_path, broken, caplog):
    (tmp_path / label_file.FILE).write_bytes(broken)  # torn: without an end of line
    label_file.append(tmp_path, Event(5.0, "a", 100.0))
    assert read(tmp_path).timeline.over(10.0, 11.0) == "a"
    assert "1 broken lines skipped" in caplog.text


def test_half_a_line_waits_for_its_end(tmp_path):
    whole = Event(5.0, "a", 100.0).encode()
    path = tmp_path / label_file.FILE
    path.write_bytes(whole[:10])
    tail = read(tmp_path)
    assert tail.timeline.over(10.0, 10.0) == ""
    path.write_bytes(whole)
    tail.refresh()
    assert tail.timeline.over(10.0, 10.0) == "a"


def test_the_file_stays_bounded_and_nobody_loses_a_line(tmp_path):
    """Four writers at once, across several times that the file is replaced by its newest half."""
    tail, each = Tail(tmp_path), 250
    padding = "x" * 190

    def press(writer: int) -> None:
        for k in range(each):
            label_file.append(tmp_path, Event(float(4 * k + writer), padding, 4 * k + writer + 0.5))

    before, label_file.LARGEST = label_file.LARGEST, 100_000
    try:
        writers = [threading.Thread(target=press, args=(w,)) for w in range(4)]
        for thread in writers:
            thread.start()
        for thread in writers:
            thread.join()
    finally:
        label_file.LARGEST = before
    tail.refresh()
    assert (tmp_path / label_file.FILE).stat().st_size < 100_000 + 300
    lines = (tmp_path / label_file.FILE).read_bytes().splitlines()
    assert all(Event.decode(line) is not None for line in lines)
    kept = sorted(Event.decode(line).time for line in lines)
    for writer in range(4):  # of each writer the newest ones, without a hole
        mine = [time for time in kept if time % 4 == writer]
        assert mine == [float(4 * k + writer) for k in range(each - len(mine), each)]
    assert not (tmp_path / "labels.new").exists()


def test_a_file_that_cannot_be_read_is_said_once(tmp_path, caplog):
    (tmp_path / label_file.FILE).mkdir()
    tail = read(tmp_path)
    tail.refresh()
    assert caplog.text.count("labels cannot be read") == 1


# --- messages ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        (b"walking", Event(100.0, "walking", 100.0 + EXPIRES)),
        (b' "walking" ', Event(100.0, "walking", 100.0 + EXPIRES)),
        (b"3", Event(100.0, "3", 100.0 + EXPIRES)),
        (b"", Event(100.0, "", 100.0 + EXPIRES)),
        (b'{"label": "sitting"}', Event(100.0, "sitting", 100.0 + EXPIRES)),
        (b'{"label": "sitting", "time": 40, "for": 10}', Event(40.0, "sitting", 50.0)),
        (b'{"label": null}', None),
        (b'{"label": "a", "time": "yesterday"}', None),
        (b'{"label": "a", "for": -1}', None),
        (b'{"label": "a", "time": NaN}', None),
        (b"x" * 5000, None),
    ],
)
def test_messages(payload, expected):
    assert event_of(payload, 100.0) == expected


def test_a_retained_message_counts_only_with_its_time():
    assert event_of(b"walking", 100.0, retained=True) is None
    timed = b'{"label": "walking", "time": 90}'
    assert event_of(timed, 100.0, retained=True) == event_of(timed, 100.0)


@given(st.binary(max_size=200))
def test_any_message_is_a_sound_event_or_none(payload):
    event = event_of(payload, 100.0)
    assert event is None or Event.decode(event.encode()) == event
