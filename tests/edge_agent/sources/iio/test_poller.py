"""Reading a motion sensor through sysfs.

Every reading has its time, and each conversion of the chip its place.
"""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from edge_agent.signal.grid import unit_records
from edge_agent.signal.windows import Windower
from edge_agent.sources.base import Options
from edge_agent.sources.iio.poller import HOLD_SECONDS, Poller
from edge_agent.sources.iio.search import find
from edge_agent.sources.iio.sensor import CLIPPED
from edge_agent.sources.tally import Tally
from tests.edge_agent.motion import BEGIN, FIRST, recording, signals_of
from tests.edge_agent.sources.iio.fake_iio import FakeDevice, devices


def play(device, seconds):
    """Somebody moves: the poller reads at made-up times, without its thread."""
    sensors = find("mpu6050", device.link.parent, Options())
    now = [0.0]
    poller = Poller(sensors, Tally("iio:mpu6050"), clock=lambda: now[0])
    for time, acc, gyro in zip(*recording(seconds, rate=100.0, jitter=0.002), strict=True):
        now[0] = float(time)
        device.move(acc, gyro)
        poller.take()
    return poller


def test_polling_gives_the_samples_with_their_times(tmp_path):
    device = FakeDevice(tmp_path, 0, "mpu6050")
    with closing(play(device, 2)) as poller:
        (samples,) = poller.read()
        assert poller.read() == []
    times, acc, gyro = recording(2, rate=100.0, jitter=0.002)
    kept = times % 1.28 >= HOLD_SECONDS
    np.testing.assert_array_equal(samples.times, times[kept])
    np.testing.assert_allclose(samples.acc, acc[kept], atol=2e-4)
    np.testing.assert_allclose(samples.gyro, gyro[kept], atol=1e-3)


class Chip:
    """Converts 50 times a second, and gives the last conversion until the next one."""

    def __init__(self, conversions, phase):
        self.conversions = conversions
        self.phase = phase
        self.now = BEGIN

    def read(self):
        return self.conversions[int((self.now - BEGIN) * 50 + self.phase)]


@settings(max_examples=60, deadline=None)
@example(0.75, 0.0, 0, 0)  # read on the border to the bit
@given(st.floats(0, 1, exclude_max=True), st.floats(0, 0.01), st.integers(0, 3), st.integers(-3, 3))
def test_a_conversion_that_is_read_twice_is_in_no_more_records_than_one_reading(
    phase, late, block, near
):
    """Read so often, the same value may come before and after the border of two blocks."""
    conversions = recording(8)[1]
    changed = conversions.copy()
    changed[128 + 64 * block + near] += 0.4

    def windows(values):
        chip = Chip(values, phase)
        poller = Poller((chip, chip), Tally("iio:chip"), clock=lambda: chip.now)
        for k in range(780):
            chip.now = BEGIN + late + 0.01 * k
            poller.take()
        (samples,) = poller.read()
        made = Windower(0, CLIPPED, CLIPPED).push(samples.times, samples.acc, samples.gyro)
        return signals_of(made)

    before = windows(conversions)
    after = windows(changed)
    assert len(before) == 5
    assert sum(before[k] != after[k] for k in before) <= unit_records()


def test_readings_that_fail_are_counted_and_the_rest_goes_on(tmp_path, caplog):
    device = FakeDevice(tmp_path, 0, "mpu6050")
    tally = Tally("iio:mpu6050")
    poller = Poller(find("mpu6050", devices(tmp_path), Options()), tally, clock=lambda: 5.0)
    poller.take()
    device.write("in_anglvel_y_raw", "")
    for _ in range(5):
        poller.take()
    device.write("in_anglvel_y_raw", "17")
    poller.take()
    (samples,) = poller.read()
    assert len(samples.times) == 2
    assert sum(tally.counts.values()) == 5
    assert caplog.text.count("readings failed") == 3  # at 1, 2 and 4
    device.unplug()
    with pytest.raises(OSError, match="no such device"):
        poller.check()
    poller.close()


class Bus:
    """A sensor, the time that its readings take, and the scheduler; one is held up, once."""

    def __init__(self, at, pause, where, seconds):
        self.now = BEGIN
        self.end = BEGIN + seconds
        self.at = BEGIN + at
        self.pause = pause
        self.where = where
        self.rng = np.random.default_rng(0)

    def hold_up(self, where):
        if where == self.where and self.now >= self.at:
            self.now += self.pause
            self.at = np.inf

    def read(self):
        self.hold_up("reading")
        self.now += 0.0001
        return self.rng.normal(size=3)

    def wait(self, seconds):
        self.now += seconds
        self.hold_up("scheduler")
        return self.now >= self.end


@pytest.mark.parametrize("where", ["reading", "scheduler"])
@pytest.mark.parametrize("at", [4.0, 5.003, 6.4069])
@pytest.mark.parametrize("pause", [0.0, 0.009, 0.03, 0.045, 0.2])
def test_a_reader_that_was_held_up_skips_the_times_that_it_missed(where, at, pause):
    bus = Bus(at, pause, where, seconds=12)
    poller = Poller(
        (bus, bus), Tally("iio:chip"), clock=lambda: bus.now, steady=lambda: bus.now - BEGIN
    )
    poller._leaving = bus
    poller.run()
    (samples,) = poller.read()
    # Or two could share a tick, and one of them be refused.
    assert np.diff(samples.times).min() > 0.001
    assert len(samples.times) <= 1201 - 100 * pause + 2
    windower = Windower(0, CLIPPED, CLIPPED)
    made = windower.push(samples.times, samples.acc, samples.gyro)
    windows = [window.index - FIRST for window in made]
    assert windower.refused.total() == 0
    assert windower.dropped["backward"] == 0
    near_a_border = at == 6.4069  # where no reading counts for 25 ms
    if pause < (0.035 if near_a_border else 0.05):
        assert windows == list(range(8))
    else:
        assert 0 < len(windows) < 8
