"""Sensors and clocks that stall, jump, repeat, go back or lie.

No window is wrong silently, and memory is bounded.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edge_agent.signal.features import features
from edge_agent.signal.grid import HOP, WINDOW
from edge_agent.signal.windows import Windower
from tests.edge_agent.motion import BEGIN as START
from tests.edge_agent.motion import FIRST, recording, run, signals_of


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
    assert not hurt & {w.index for w in windows if not w.fault}
    by_reading = reason in ("stuck", "saturated", "not finite")
    faulty = {w.index for w in windows if w.fault == reason}
    assert faulty >= hurt if by_reading else not faulty
    windows = [w for w in windows if not w.fault]
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
    windower = Windower()
    windows = []
    for low in range(0, len(times), 37):
        part = slice(low, low + 37)
        windows += windower.push_acceleration(times[part], acc[part])
        windows += windower.push_rotation(times[part], gyro[part])
    assert signals_of(windows) == signals_of(run(times, acc, gyro)[0])


@pytest.mark.long
@settings(max_examples=150, deadline=None)
@given(
    st.integers(300, 460) | st.sampled_from([321, 385, 449]),
    st.integers(2, 500),
    st.booleans(),
    st.integers(1, 200),
)
def test_no_window_joins_what_was_before_and_after_a_clock_was_set_back(step, back, apart, size):
    times, acc, gyro = recording(25, jitter=0.003)
    times[step:] -= back / 50
    acc[:, 0] = np.where(np.arange(len(times)) < step, -1.0, 1.0) + 0.01 * acc[:, 0]
    windower = Windower()
    windows = []
    for low in range(0, len(times), size if apart else len(times)):
        part = slice(low, low + size) if apart else slice(None)
        if apart:
            windows += windower.push_rotation(times[part], gyro[part])
            windows += windower.push_acceleration(times[part], acc[part])
        else:
            windows += windower.push(times[part], acc[part], gyro[part])
    assert not [w.index for w in windows if np.ptp(w.signals[6]) > 1]
    assert len(windows) == len({w.index for w in windows})
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
    """Four samples, all dated when their buffer was emptied.

    Enough of them, but nobody knows when they were taken.
    """
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
