"""The streams of a phone side by side: in their order of arrival, however they are cut."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from edge_agent.signal.windows import Windower
from tests.edge_agent.motion import recording
from tests.edge_agent.sources.phone.phones import UPRIGHT, G, entry, named, records_of
from tests.edge_agent.sources.sensors import ordinals


def arrivals(times, acc, gyro, total):
    """All entries in their order of arrival."""
    entries = []
    for time, a, g in zip(times, acc, gyro, strict=True):
        if total:
            entries.append(entry("totalacceleration", time, a * G))
        entries.append(entry("accelerometer", time, a * G - UPRIGHT))
        entries.append(entry("gravity", time, UPRIGHT))
        entries.append(entry("gyroscope", time, g))
    return entries


def cut(entries, sizes, by_stream):
    """Messages of these sizes, over and over; each in order of arrival, or stream after stream."""
    sent = []
    low = 0
    while low < len(entries):
        part = entries[low : low + sizes[len(sent) % len(sizes)]]
        low += len(part)
        payload = sorted(part, key=lambda one: one["name"]) if by_stream else part
        sent.append(named(len(sent), payload))
    return sent


STEPS = st.lists(st.tuples(st.integers(20, 580), st.floats(0.03, 4.0)), max_size=3)


@pytest.mark.long
@settings(max_examples=30, deadline=None)
@given(STEPS, st.lists(st.integers(1, 900), min_size=1, max_size=6), st.booleans(), st.booleans())
# Two steps within a few readings, of which some streams have noticed one when a message ends.
@example([(60, 2.0), (61, 2.0)], [10, 221], False, True)
@example([(20, 1.0), (136, 1.0), (137, 2.0)], [7], False, False)
@example([(100, 3.69), (105, 0.5), (106, 2.0)], [613, 9], True, True)
def test_any_cut_into_messages_gives_the_same_windows(steps, sizes, by_stream, total):
    """Also if the clock steps back, within a message or between two."""
    times, acc, gyro = recording(12, jitter=0.002)
    for at, back in steps:
        times[at:] -= back
    entries = arrivals(times, acc, gyro, total)
    one_by_one, _, _ = records_of(cut(entries, [1], False))
    records, _, _ = records_of(cut(entries, sizes, by_stream))
    assert records == one_by_one


@pytest.mark.parametrize(("at", "back"), [(520, 0.31), (515, 0.21), (520, 0.35), (533, 1.5)])
@pytest.mark.parametrize("total", [True, False])
def test_a_clock_that_steps_back_inside_a_message_is_noticed(at, back, total):
    times, acc, gyro = recording(30, jitter=0.001)
    times[at:] -= back
    windower = Windower(0, 8.0, 35.0)
    expected = [window.index for window in windower.push(times, acc, gyro)]
    entries = arrivals(times, acc, gyro, total)
    records, _, source = records_of(cut(entries, [150 + 50 * total], True))
    assert ordinals(records) == expected
    assert windower.dropped["backward"] >= 2
    counts = source.tally.counts
    assert counts["windows dropped: the clock went back"] == windower.dropped["backward"]
