"""Windows: aligned to absolute time, local in the samples, the same for any chunking."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_agent.signal.features import features
from edge_agent.signal.grid import HOP, WINDOW, unit_records
from edge_agent.signal.windows import Windower
from tests.edge_agent.motion import BEGIN as START
from tests.edge_agent.motion import FIRST, recording, run, signals_of


@pytest.mark.parametrize("margin", [0, 1, 16, 32, 33])
def test_one_sample_touches_at_most_unit_records_windows(margin):
    times, acc, gyro = recording(16)
    before = signals_of(run(times, acc, gyro, margin=margin)[0])
    most = 0
    for i in range(250, 400, 1 if margin == 0 else 3):
        changed = acc.copy()
        changed[i] += [0.4, -0.3, 0.2]
        after = signals_of(run(times, changed, gyro, margin=margin)[0])
        assert before.keys() == after.keys()
        most = max(most, sum(before[k] != after[k] for k in before))
    assert most == unit_records(margin)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 799),
    st.sampled_from(["nan", "saturated", "lost", "rotation"]),
    st.sampled_from([0, 20]),
)
def test_no_fault_of_one_sample_reaches_further(i, fault, margin):
    times, acc, gyro = recording(16)
    before = signals_of(run(times, acc, gyro, margin=margin)[0])
    if fault == "lost":
        times, acc, gyro = (np.delete(x, i, axis=0) for x in (times, acc, gyro))
    elif fault == "rotation":
        gyro[i] = -gyro[i] + 1
    else:
        acc[i, 1] = {"nan": np.nan, "saturated": 2.0}[fault]
    after = signals_of(run(times, acc, gyro, margin=margin)[0])
    assert sum(before.get(k) != after.get(k) for k in before | after) <= unit_records(margin)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 999), st.integers(1, 300)), min_size=2, max_size=8),
    st.lists(st.booleans(), min_size=1, max_size=6),
    st.floats(0, 1, exclude_max=True),
    st.sampled_from(["nan", "saturated", "other", "as before"]),
    st.booleans(),
)
def test_a_changed_reading_reaches_no_further_whatever_the_clock_does(
    pieces, apart, place, change, turning
):
    """Pieces of a recording in any order, of both sensors together or apart.

    Clocks jump, go back and repeat.
    """
    times, acc, gyro = recording(20)
    rows = np.concatenate([np.arange(low, min(low + size, 1000)) for low, size in pieces])
    i = int(place * len(rows))

    def windows(values):
        windower = Windower()
        made = []
        low = 0
        for k, (start, size) in enumerate(pieces):
            part = rows[low : low + min(size, 1000 - start)]
            mine = values[low : low + len(part)]
            low += len(part)
            first, second = (gyro[part], mine) if turning else (mine, gyro[part])
            if apart[k % len(apart)]:
                made += windower.push_rotation(times[part], second)
                made += windower.push_acceleration(times[part], first)
            else:
                made += windower.push(times[part], first, second)
        return signals_of(made), windower.refused

    before, refused = windows(acc[rows])
    changed = acc[rows]
    changed[i] = {
        "nan": np.nan,
        "saturated": 2.0,
        "other": -changed[i],
        "as before": changed[max(i - 1, 0)],
    }[change]
    after, refused_too = windows(changed)
    assert refused == refused_too
    assert sum(before.get(k) != after.get(k) for k in before | after) <= unit_records()


def test_the_same_time_again_is_refused_whatever_it_says():
    times, acc, gyro = recording(20)
    rows = np.insert(np.arange(1000), 500, 499)
    other = acc[rows]
    other[500] += 0.001
    windows, windower = run(times[rows], other, gyro[rows])
    assert signals_of(windows) == signals_of(run(times, acc, gyro)[0])
    assert windower.refused == {"stale": 0, "repeated": 1}


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(1, 300), min_size=1, max_size=30),
    st.sampled_from([0, 20]),
    st.integers(0, 3),
)
def test_any_chunking_gives_the_same_windows_and_features(sizes, margin, trouble):
    times, acc, gyro = recording(25, seed=trouble)
    if trouble:  # a lost stretch, a clock set back, a repeated sample
        keep = np.r_[0:300, 330:600, 590:700, 700:701, 700:1250]
        times, acc, gyro = (x[keep] for x in (times, acc, gyro))
    whole, reference = run(times, acc, gyro, margin=margin)
    windower = Windower(margin)
    windows = []
    low = 0
    for size in [*sizes, len(times)]:
        part = slice(low, low + size)
        windows += windower.push(times[part], acc[part], gyro[part])
        low += size
    assert signals_of(windows) == signals_of(whole)
    assert len(windows) == len(signals_of(windows)) > 5
    assert (windower.dropped, windower.refused) == (reference.dropped, reference.refused)
    one_by_one = np.concatenate([features(window.signals[None]) for window in windows])
    at_once = features(np.stack([window.signals for window in whole]))
    np.testing.assert_array_equal(one_by_one, at_once)


def test_windows_align_to_absolute_time_wherever_a_device_starts():
    late = recording(20, start=START + 0.731)[0]
    windows, windower = run(*recording(20))
    others, _ = run(late, *recording(20)[1:])
    assert [w.index for w in windows] == list(range(FIRST, FIRST + 14))
    assert [w.index for w in others] == list(range(FIRST + 1, FIRST + 14 + 1))
    assert windows[0].start == pytest.approx(START)
    assert windower.done == pytest.approx(windows[-1].start + 2.56)


def test_jitter_is_undone_and_gravity_set_apart():
    t = np.arange(400) / 50 + np.random.default_rng(5).uniform(-0.005, 0.005, 400) + 0.01
    motion = 0.3 * np.sin(2 * np.pi * 2.5 * t)[:, None] * [1.0, 0.5, 0.0]
    windows, _ = run(START + t, np.add(motion, [0.0, 0.0, 1.0]), np.tile(np.sin(t)[:, None], 3))
    centres = windows[1].start - START + (np.arange(WINDOW) + 0.5) / 50
    body = windows[1].signals[:3]
    total = windows[1].signals[6:]
    truth = 0.3 * np.sin(2 * np.pi * 2.5 * centres)
    assert np.abs(total[0] - truth)[2:-2].max() < 0.02
    assert np.abs(body[0] - truth)[8:-8].max() < 0.05
    assert np.abs((total - body).mean(1) - [0, 0, 1]).max() < 0.01


def test_a_margin_gives_the_sample_that_follows():
    windows, _ = run(*recording(16), margin=4)
    assert windows[0].signals.shape == (9, WINDOW + 1)
    overlap = windows[1].signals[6:, HOP] - windows[0].signals[6:, WINDOW]
    assert np.abs(overlap).max() < 0.02


def test_a_faster_sensor_is_averaged_and_a_slower_one_refused():
    slow, windower = run(*recording(10, rate=40.0))
    assert not slow
    assert windower.dropped["sparse"] >= 5
    fast, windower = run(*recording(10, rate=200.0, jitter=0.001))
    reference, _ = run(*recording(10, jitter=0.0))
    assert [w.index for w in fast] == [w.index for w in reference]
    assert np.abs(fast[2].signals - reference[2].signals)[:, 5:-5].mean() < 0.02


def test_misuse_is_refused_with_the_value():
    windower = Windower()
    with pytest.raises(ValueError, match="2 times for 3 samples"):
        windower.push([START, START + 0.02], np.zeros((3, 3)), np.zeros((3, 3)))
    with pytest.raises(ValueError, match="finite"):
        windower.push([np.nan], np.zeros((1, 3)), np.zeros((1, 3)))
    assert windower.push([], np.zeros((0, 3)), np.zeros((0, 3))) == []
