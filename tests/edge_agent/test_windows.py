"""Windows: aligned to absolute time, local in the samples, the same for any chunking, and never silently wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_agent.features import features
from edge_agent.windows import HOP, WINDOW, Windower, unit_records

# A multiple of 1.28 s since the epoch, so that window FIRST begins there.
FIRST = 1_328_125_000
START = FIRST * 1.28


def recording(seconds, seed=0, jitter=0.004, rate=50.0, start=START):
    """Someone walks: jittered times, gravity and two harmonics, sensor noise."""
    rng = np.random.default_rng(seed)
    n = int(seconds * rate)
    times = start + (np.arange(n) + 0.5) / rate + rng.uniform(-jitter, jitter, n)
    phase = 2 * np.pi * 1.9 * (times - START)[:, None]
    lag = np.arange(3)
    acc = [0.9, -0.2, 0.3] + [0.2, 0.1, 0.15] * np.sin(phase + lag) + rng.normal(0, 0.01, (n, 3))
    gyro = [0.5, 0.8, 0.3] * np.sin(phase / 2 - lag) + rng.normal(0, 0.02, (n, 3))
    return times, acc, gyro


def signals_of(windows):
    return {window.index: window.signals.tobytes() for window in windows}


def run(times, acc, gyro, **options):
    windower = Windower(**options)
    return windower.push(times, acc, gyro), windower


@pytest.mark.parametrize(("margin", "expected"), [(0, 2), (1, 3), (32, 3), (33, 4), (64, 4)])
def test_unit_records_follow_from_the_support(margin, expected):
    assert unit_records(margin) == expected == Windower(margin).unit_records
    with pytest.raises(ValueError, match="margin"):
        unit_records(-1)


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
@given(st.integers(0, 799), st.sampled_from(["nan", "saturated", "lost", "rotation"]), st.sampled_from([0, 20]))
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
def test_a_changed_reading_reaches_no_further_whatever_the_clock_does(pieces, apart, place, change, turning):
    """Pieces of a recording in any order: clocks that jump, go back and repeat, of both sensors together or apart."""
    times, acc, gyro = recording(20)
    rows = np.concatenate([np.arange(low, min(low + size, 1000)) for low, size in pieces])
    i = int(place * len(rows))

    def windows(values):
        windower, found, low = Windower(), [], 0
        for k, (start, size) in enumerate(pieces):
            part = rows[low : low + min(size, 1000 - start)]
            mine, low = values[low : low + len(part)], low + len(part)
            first, second = (gyro[part], mine) if turning else (mine, gyro[part])
            if apart[k % len(apart)]:
                found += windower.push_rotation(times[part], second)
                found += windower.push_acceleration(times[part], first)
            else:
                found += windower.push(times[part], first, second)
        return signals_of(found), windower.refused

    before, refused = windows(acc[rows])
    changed = acc[rows]
    changed[i] = {"nan": np.nan, "saturated": 2.0, "other": -changed[i], "as before": changed[max(i - 1, 0)]}[change]
    after, refused_too = windows(changed)
    assert refused == refused_too
    assert sum(before.get(k) != after.get(k) for k in before | after) <= unit_records()


def test_the_same_moment_again_is_refused_whatever_it_says():
    times, acc, gyro = recording(20)
    rows = np.insert(np.arange(1000), 500, 499)
    other = acc[rows]
    other[500] += 0.001
    windows, windower = run(times[rows], other, gyro[rows])
    assert signals_of(windows) == signals_of(run(times, acc, gyro)[0])
    assert windower.refused == {"stale": 0, "repeated": 1}


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 300), min_size=1, max_size=30), st.sampled_from([0, 20]), st.integers(0, 3))
def test_any_chunking_gives_the_same_windows_and_features(sizes, margin, trouble):
    times, acc, gyro = recording(25, seed=trouble)
    if trouble:  # a lost stretch, a clock set back, a repeated sample
        keep = np.r_[0:300, 330:600, 590:700, 700:701, 700:1250]
        times, acc, gyro = times[keep], acc[keep], gyro[keep]
    whole, reference = run(times, acc, gyro, margin=margin)
    windower, found, low = Windower(margin), [], 0
    for size in [*sizes, len(times)]:
        part = slice(low, low + size)
        found += windower.push(times[part], acc[part], gyro[part])
        low += size
    assert signals_of(found) == signals_of(whole)
    assert len(found) == len(signals_of(found)) > 5
    assert (windower.dropped, windower.refused) == (reference.dropped, reference.refused)
    one_by_one = [features(window.signals[None]) for window in found]
    np.testing.assert_array_equal(np.concatenate(one_by_one), features(np.stack([w.signals for w in whole])))


def test_windows_align_to_absolute_time_wherever_a_device_starts():
    late = recording(20, start=START + 0.731)[0]
    windows, windower = run(*recording(20))
    others, _ = run(late, *recording(20)[1:])
    assert [w.index for w in windows] == list(range(FIRST, FIRST + 14))
    assert [w.index for w in others] == list(range(FIRST + 1, FIRST + 14 + 1))
    assert windows[0].start == pytest.approx(START)
    assert windower.done == pytest.approx(windows[-1].start + 2.56)


def test_jitter_is_undone_and_gravity_found():
    t = np.arange(400) / 50 + np.random.default_rng(5).uniform(-0.005, 0.005, 400) + 0.01
    motion = 0.3 * np.sin(2 * np.pi * 2.5 * t)[:, None] * [1.0, 0.5, 0.0]
    windows, _ = run(START + t, np.add(motion, [0.0, 0.0, 1.0]), np.tile(np.sin(t)[:, None], 3))
    centres = windows[1].start - START + (np.arange(WINDOW) + 0.5) / 50
    body, total = windows[1].signals[:3], windows[1].signals[6:]
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


def drop(kind):
    times, acc, gyro = recording(30)
    hit = slice(680, 740)
    if kind == "stall":
        keep = np.r_[0:680, 740:1500]
        return times[keep], acc[keep], gyro[keep]
    if kind == "jump ahead":
        times[680:] += 3600
    elif kind == "jump back":
        times[680:] -= 0.5
    elif kind == "held":
        acc[hit] = acc[680]
    elif kind == "saturated":
        acc[690] = [0.1, -1.999, 0.0]
    elif kind == "fast turn":
        gyro[690] = [0.0, 10.2, 0.0]
    elif kind == "not a number":
        gyro[690, 2] = np.nan
    return times, acc, gyro


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("stall", "gap"),
        ("jump ahead", "gap"),
        ("jump back", "backward"),
        ("held", "stuck"),
        ("saturated", "saturated"),
        ("fast turn", "saturated"),
        ("not a number", "not finite"),
    ],
)
def test_bad_stretches_are_dropped_and_counted(kind, reason):
    clean, _ = run(*recording(30))
    windows, windower = run(*drop(kind))
    assert windower.dropped[reason] >= 1
    hurt = {FIRST + 680 // HOP, FIRST + 680 // HOP - 1}
    assert not hurt & {w.index for w in windows}
    untouched = signals_of(w for w in clean if (w.index - FIRST) * HOP + WINDOW <= 680)
    assert untouched.items() <= signals_of(windows).items()
    assert len(windows) + sum(windower.dropped.values()) >= len(clean) - 2
    assert np.isfinite(features(np.stack([w.signals for w in windows]))).all()


def test_a_recording_that_comes_twice_gives_no_window_twice():
    times, acc, gyro = recording(20)
    windower = Windower()
    first = windower.push(times, acc, gyro)
    again = windower.push(times, acc, gyro)
    assert len(first) == 14
    assert not {w.index for w in first} & {w.index for w in again}
    assert windower.refused["stale"] >= 14 * HOP
    resumed = Windower(since=windower.done)
    assert not {w.index for w in first} & {w.index for w in resumed.push(times, acc, gyro)}


def test_redelivered_samples_change_nothing():
    times, acc, gyro = recording(20)
    twice = np.repeat(np.arange(len(times)), np.random.default_rng(3).integers(1, 4, len(times)))
    windows, windower = run(times[twice], acc[twice], gyro[twice])
    assert signals_of(windows) == signals_of(run(times, acc, gyro)[0])
    assert windower.refused["repeated"] == len(twice) - len(times)


def test_an_old_message_that_comes_late_costs_nothing_but_itself():
    times, acc, gyro = recording(20)
    order = np.r_[0:600, 100:103, 600:1000]
    windows, windower = run(times[order], acc[order], gyro[order])
    expected, undisturbed = run(times, acc, gyro)
    assert signals_of(windows) == signals_of(expected)
    assert windower.refused["stale"] == 3
    assert windower.dropped == undisturbed.dropped


def test_one_time_stamp_from_the_far_future_costs_its_own_windows_only():
    times, acc, gyro = recording(30)
    clean, _ = run(times, acc, gyro)
    times[700] += 1e9
    windows, windower = run(times, acc, gyro)
    lost = {w.index for w in clean} - {w.index for w in windows}
    assert len(lost) <= 3
    assert windower.dropped["gap"] + windower.dropped["backward"] >= len(lost)


def test_sensors_with_clocks_of_their_own_make_the_same_windows():
    times, acc, gyro = recording(20)
    windower, found = Windower(), []
    for low in range(0, len(times), 37):
        part = slice(low, low + 37)
        found += windower.push_acceleration(times[part], acc[part])
        found += windower.push_rotation(times[part], gyro[part])
    assert signals_of(found) == signals_of(run(times, acc, gyro)[0])


@settings(max_examples=150, deadline=None)
@given(
    st.integers(300, 460) | st.sampled_from([321, 385, 449]), st.integers(2, 500), st.booleans(), st.integers(1, 200)
)
def test_no_window_joins_what_was_before_and_after_a_clock_was_set_back(step, back, apart, size):
    times, acc, gyro = recording(25, jitter=0.003)
    times[step:] -= back / 50
    acc[:, 0] = np.where(np.arange(len(times)) < step, -1.0, 1.0) + 0.01 * acc[:, 0]
    windower, found = Windower(), []
    for low in range(0, len(times), size if apart else len(times)):
        part = slice(low, low + size) if apart else slice(None)
        if apart:
            found += windower.push_rotation(times[part], gyro[part])
            found += windower.push_acceleration(times[part], acc[part])
        else:
            found += windower.push(times[part], acc[part], gyro[part])
    assert not [w.index for w in found if np.ptp(w.signals[6]) > 1]
    assert len(found) == len({w.index for w in found})
    assert windower.dropped["backward"] + windower.dropped["gap"] >= 1


def test_a_sensor_that_jumps_ahead_and_falls_silent_does_not_fill_the_memory():
    times, acc, gyro = recording(120)
    windower = Windower()
    windower.push(times[:500], acc[:500], gyro[:500])
    windower.push_rotation(times[500:501] + 80_000, gyro[500:501])
    for low in range(500, len(times), 500):
        part = slice(low, low + 500)
        windower.push_acceleration(times[part], acc[part])
        assert len(windower._acc.positions) < 6 * WINDOW
    assert windower.refused["behind"] > 5000
    # When it comes back with the right time, so do the windows.
    more = np.arange(6000, 7000) / 50 + START
    assert len(windower.push(more, acc[:1000] + 0.001, gyro[:1000])) > 10


def test_samples_that_are_dated_in_batches_are_no_50_hz():
    """Four samples, all dated when their buffer was emptied: enough of them, but nobody knows when they were taken."""
    _, acc, gyro = recording(20)
    batch, place = np.divmod(np.arange(len(acc)), 4)
    windows, windower = run(START + 0.057 * batch + 0.001 * place, acc, gyro)
    assert not windows
    assert windower.dropped["sparse"] >= 9


def test_a_sensor_that_falls_silent_is_noticed_and_memory_stays_bounded():
    times, acc, gyro = recording(120)
    windower = Windower()
    windower.push(times[:500], acc[:500], gyro[:500])
    held = []
    for low in range(500, len(times), 50):
        part = slice(low, low + 50)
        assert windower.push_acceleration(times[part], acc[part]) == []
        held.append(len(windower._acc.positions))
    assert windower.dropped["gap"] > 70
    assert max(held) < 6 * WINDOW


def test_misuse_is_refused_with_the_value():
    windower = Windower()
    with pytest.raises(ValueError, match="2 times for 3 samples"):
        windower.push([START, START + 0.02], np.zeros((3, 3)), np.zeros((3, 3)))
    with pytest.raises(ValueError, match="finite"):
        windower.push([np.nan], np.zeros((1, 3)), np.zeros((1, 3)))
    assert windower.push([], np.zeros((0, 3)), np.zeros((0, 3))) == []
