"""Sensors as sources: each window once, whatever happens to process, clock and sensor.

And losses are said.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_agent.consent.admission import Feed
from edge_agent.records import START, Position
from edge_agent.sources.paced import Paced
from edge_agent.sources.samples import Samples
from tests.edge_agent.motion import BEGIN, FIRST, recording
from tests.edge_agent.sources.sensors import give, live, ordinals


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 300), min_size=1, max_size=20), st.integers(1, 20))
def test_any_chunking_gives_the_same_records(sizes, limit):
    times, acc, gyro = recording(20)
    whole = give(live(), times, acc, gyro)
    source = live()
    records = []
    low = 0
    for size in [*sizes, len(times)]:
        part = slice(low, low + size)
        records += give(source, times[part], acc[part], gyro[part], limit)
        low += size
    assert records == whole
    assert ordinals(records) == list(range(FIRST, FIRST + 14))


JUMPS = st.sampled_from([0.0, 0.0, 3600.0, -5.0])


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 900), st.integers(1, 600), JUMPS), max_size=8))
def test_no_window_twice_whatever_happens_to_process_and_clock(events):
    """Pieces of one recording in any order, with clocks that jump, and restarts in between."""
    times, acc, gyro = recording(20)
    after = START
    seen = []
    for low, size, jump in events:
        source = live(after)
        part = slice(low, low + size)
        records = give(source, times[part] + jump, acc[part], gyro[part])
        records += give(source, times[part], acc[part], gyro[part])
        if records:
            after = Position(records[-1].position.ordinal, records[-1].position.cursor)
        seen += ordinals(records)
    assert seen == sorted(set(seen))


def test_one_reading_is_in_two_records_and_the_budget_knows():
    source = live()
    assert Feed.of(source).unit_records == Feed.of(Paced(source, "time", 2.0)).unit_records == 2


def test_a_restarted_sensor_goes_on_with_samples_that_no_record_has_seen():
    times, acc, gyro = recording(30)
    first = give(live(), times[:700], acc[:700], gyro[:700])
    again = live(first[-1].position)
    rest = give(again, times, acc, gyro)
    # The window in between shares samples with the last one.
    assert ordinals(rest)[0] == ordinals(first)[-1] + 2
    assert rest[0].span[0] == first[-1].span[1]
    assert any("older than the last window" in kind for kind in again.tally.counts)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("stall", "samples were missing"),
        ("jump ahead", "samples were missing"),
        ("jump back", "the clock went back"),
        ("held", "the very same reading"),
        ("saturated", "at full scale"),
        ("not a number", "not a number"),
        ("slow", "slower than 45"),
        ("twice", "older than the last window"),
        ("each twice", "in the same millisecond"),
    ],
)
def test_a_sensor_in_trouble_is_noticed_and_said(kind, reason, caplog):
    times, acc, gyro = recording(30)
    clean = ordinals(give(live(), times, acc, gyro))
    if kind == "stall":
        keep = np.r_[0:680, 740:1500]
        times, acc, gyro = (x[keep] for x in (times, acc, gyro))
    elif kind.startswith("jump"):
        times[680:] += {"jump ahead": 3600.0, "jump back": -0.5}[kind]
    elif kind == "held":
        acc[680:740] = acc[680]
    elif kind == "saturated":
        acc[690, 2] = -7.99
    elif kind == "not a number":
        gyro[690, 0] = np.nan
    elif kind == "slow":
        keep = np.setdiff1d(np.arange(1500), np.arange(640, 860, 5))
        times, acc, gyro = (x[keep] for x in (times, acc, gyro))
    elif kind == "twice":
        times, acc, gyro = (np.concatenate([x, x[:600]]) for x in (times, acc, gyro))
    else:
        times, acc, gyro = (np.repeat(x, 2, axis=0) for x in (times, acc, gyro))
    source = live()
    windows = set(ordinals(r for r in give(source, times, acc, gyro) if not r.fault))
    hurt = {FIRST + 680 // 64, FIRST + 680 // 64 - 1} if "twice" not in kind else set()
    assert windows & set(clean) <= set(clean) - hurt
    assert set(clean[:8]) <= windows
    assert next(text for text in source.tally.counts if reason in text)
    assert reason in caplog.text


def test_a_source_waits_for_its_reader_and_hands_out_what_is_there_first():
    source = live()
    assert source._reader.started
    assert (source.fileno(), source.delay()) == (7, 0.5)
    assert not source.ended
    assert not source.replayable
    times, acc, gyro = recording(12)
    source._reader.queue.append(Samples(times=times, acc=acc, gyro=gyro))
    assert len(source.poll(2)) == 2
    assert (source.fileno(), source.delay()) == (None, 0.0)
    source.close()
    assert source._reader.closed


def test_sensors_with_clocks_of_their_own_make_the_same_records():
    times, acc, gyro = recording(12)
    source = live()
    for low in range(0, len(times), 40):
        part = slice(low, low + 40)
        source._reader.queue += [
            Samples(times=times[part], acc=acc[part]),
            Samples(times=times[part], gyro=gyro[part]),
        ]
    records = source.poll(16)
    assert [replace(record, span=None) for record in records] == [
        replace(record, span=None) for record in give(live(), times, acc, gyro)
    ]
    assert records[0].span == pytest.approx((BEGIN, BEGIN + 2.56))
