"""`iio:DEVICE`: a device that goes, comes back, falls silent, or is not what it was.

Another range, another scale, other channels.
"""

from __future__ import annotations

import gc
import os
from contextlib import closing

import numpy as np
import pytest

import edge_agent.sources.iio.source as module
from edge_agent.records import START
from edge_agent.sources import open_source
from edge_agent.sources.base import Options
from edge_agent.sources.iio.buffer import EARLIER, Buffers
from edge_agent.sources.iio.poller import Poller
from tests.edge_agent.motion import BEGIN, FIRST, read, recording, until, write_recording
from tests.edge_agent.sources.iio.fake_iio import FakeDevice, feed


def test_a_device_that_comes_back_is_found_again(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SEARCH_SECONDS", 0.05)
    device = FakeDevice(tmp_path, 0, "mpu6050")
    with closing(open_source(f"iio:{tmp_path}/mpu6050", Options())) as source:
        source.resume(START)
        reader = source._reader
        until(lambda: reader.read())
        device.unplug()
        until(lambda: not reader.read() and reader._backend is None)
        assert 0 <= source.delay() <= 0.05

        def in_vain():
            return any("looked for in vain" in kind for kind in reader.tally.counts)

        until(lambda: in_vain() or reader.read())
        device.plug()
        until(lambda: reader.read())
        assert source.delay() == module.LOOK_SECONDS
        assert not source.ended
        assert not source.replayable
    assert any("went away" in kind for kind in reader.tally.counts)


def test_a_device_that_falls_silent_is_opened_anew_in_the_way_that_is_left(
    tmp_path, monkeypatch, caplog
):
    """Somebody switches the buffer on, so that single readings are refused, and off again."""
    monkeypatch.setattr(module, "SEARCH_SECONDS", 0.05)
    monkeypatch.setattr(module, "SILENCE_SECONDS", 0.3)
    device = FakeDevice(tmp_path, 0, "mpu6050")
    with closing(open_source(f"iio:{tmp_path}/mpu6050", Options())) as source:
        source.resume(START)
        reader = source._reader
        until(lambda: reader.read())
        pipe = device.switch_on()
        device.write("in_accel_x_raw", "busy")
        until(lambda: not reader.read() and isinstance(reader._backend, Buffers))
        assert reader.tally.counts[module.SILENT] >= 1
        os.write(pipe, device.scan(BEGIN, [0, 0, 1], [0, 0, 0]))
        until(lambda: reader.read())
        device.write("buffer/enable", 0)
        device.write("in_accel_x_raw", "17")
        until(lambda: reader.read() and isinstance(reader._backend, Poller))
        os.close(pipe)
    assert "readings failed" in caplog.text


def back_again(source):
    """Wait until the reader has found its device again."""
    until(lambda: source.poll(16) or source._reader._backend is not None)


@pytest.mark.parametrize("way", ["unplugged", "silent"])
@pytest.mark.parametrize("full", [2, 8])
def test_a_peak_is_cut_off_by_the_range_that_the_sensor_has_now(
    tmp_path, monkeypatch, caplog, way, full
):
    """It comes back with another full scale.

    2 g cut off what 8 g did not, and the other way round.
    """
    scales = {2: 0.000598, 8: 0.002394}
    monkeypatch.setattr(module, "SEARCH_SECONDS", 0.05)
    device = FakeDevice(tmp_path, 0, "mpu6050")

    def set_scale(g):
        device.scales["accel"] = scales[g]
        device.files["in_accel_scale"] = scales[g]
        device.write("in_accel_scale", scales[g])

    set_scale(10 - full)
    pipe = device.switch_on()
    times, acc, gyro = recording(30)
    strong = acc.copy()
    strong[:, 0] += 1.5 * np.sin(2 * np.pi * 2 * (times - times[0]))
    assert 2.3 < np.abs(strong).max() < 3.0
    with closing(open_source(f"iio:{tmp_path}/mpu6050", Options())) as source:
        source.resume(START)
        feed([(pipe, device)], times[:500], acc[:500], gyro[:500])
        assert len(source.poll(16)) == 6
        if way == "unplugged":
            device.unplug()
            os.close(pipe)
            device.node.unlink()
            assert source.poll(16) == []
            device.plug()
            set_scale(full)
            pipe = device.switch_on()
        else:
            with monkeypatch.context() as patch:
                patch.setattr(module, "SILENCE_SECONDS", -1.0)
                assert source.poll(16) == []
            assert source._reader._backend is None
            set_scale(full)
        back_again(source)
        feed([(pipe, device)], times[500:], strong[500:], gyro[500:])
        records = [record for record in source.poll(32) if not record.fault]
    os.close(pipe)
    dropped = sum(count for kind, count in source.tally.counts.items() if "full scale" in kind)
    assert (len(records), dropped) == ((0, 16) if full == 2 else (16, 0))
    assert caplog.text.count(f"full scale of accel changed from {10 - full} to {full} g") == 1


def test_scans_of_an_uncertain_scale_are_dropped_and_counted(tmp_path, monkeypatch):
    """Some drivers let anyone set the scale while scans wait in the buffer."""
    monkeypatch.setattr(module, "SEARCH_SECONDS", 0.05)
    device = FakeDevice(tmp_path, 0, "mpu6050")
    pipe = device.switch_on()
    times, acc, gyro = recording(30)

    def measure(low, high):
        feed([(pipe, device)], times[low:high], acc[low:high], gyro[low:high])

    measure(0, 5)
    with closing(open_source(f"iio:{tmp_path}/mpu6050", Options())) as source:
        source.resume(START)
        counts = source._reader.tally.counts
        assert counts[EARLIER] == 5
        measure(5, 500)
        records = source.poll(32)
        measure(500, 550)
        device.write("in_accel_scale", 0.000598)
        assert source.poll(32) == []
        assert counts[f"{module.LOST} (its scale changed)"] == 1
        assert counts[module.UNSURE] == 50
        measure(550, 560)
        back_again(source)
        assert counts[EARLIER] == 15
        device.scales["accel"] = 0.000598
        measure(560, 1500)
        records += source.poll(32)
        assert counts.total() == 1 + 50 + 15 + 1  # and the change itself
    os.close(pipe)
    expected, _ = read(write_recording(tmp_path / "same.csv", times, acc, gyro))
    truth = {record.position.ordinal: record.x for record in expected}
    assert [record.position.ordinal - FIRST for record in records] == [1, 2, 3, 4, 5, *range(9, 22)]
    for record in records:
        for name in (f"tGravityAcc-mean()-{axis}" for axis in "XYZ"):
            assert record.x[name] == pytest.approx(truth[record.position.ordinal][name], abs=1e-3)


def test_a_buffer_with_other_channels_is_opened_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SEARCH_SECONDS", 0.05)
    device = FakeDevice(tmp_path, 0, "mpu6050")
    for what, value in (("type", "le:s16/16>>0"), ("index", "9"), ("en", "1")):
        device.write(f"scan_elements/in_temp_{what}", value)
    pipe = device.switch_on()
    with closing(open_source(f"iio:{tmp_path}/mpu6050", Options())) as source:
        source.resume(START)
        reader = source._reader
        device.write("scan_elements/in_temp_en", 0)
        feed([(pipe, device)], [BEGIN] * 4, [[0, 0, 1]] * 4, [[0, 0, 0]] * 4)
        assert reader.read() == []
        assert reader.tally.counts[f"{module.LOST} (the channels of its buffer changed)"] == 1
        assert reader.tally.counts[module.UNSURE] > 0
        back_again(source)
        feed([(pipe, device)], [BEGIN], [[0, 0, 1]], [[0, 0, 0]])
        (samples,) = reader.read()
        assert samples.times == pytest.approx(BEGIN, abs=1e-6)
        device.write("scan_elements/in_accel_y_en", 0)

        def refused():
            return any("lacks in_accel_y" in kind for kind in reader.tally.counts)

        until(lambda: refused() or reader.read())
    os.close(pipe)


def test_opening_again_and_again_leaves_no_file_open(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SEARCH_SECONDS", 0.0)
    device = FakeDevice(tmp_path, 0, "mpu6050")
    pipe = device.switch_on()
    with closing(open_source(f"iio:{tmp_path}/mpu6050", Options())) as source:
        source.resume(START)
        source._reader.read()
        gc.collect()  # or what other tests have left behind would be closed in between
        before = len(os.listdir("/proc/self/fd"))
        for scale in (0.0012, 0.0024) * 5:
            device.write("in_accel_scale", scale)
            assert source._reader.read() == []
            assert source._reader._backend is None
            source._reader.read()
            assert source._reader.read() == []
        assert len(os.listdir("/proc/self/fd")) == before
    os.close(pipe)
