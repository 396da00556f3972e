"""`iio:DEVICE` against a faithful tree: units, frames, full scale, faults, and both ways of reading."""

from __future__ import annotations

import os
from contextlib import closing

import numpy as np
import pytest

import edge_agent.sources.iio.source as module
from edge_agent.errors import SourceError
from edge_agent.records import START
from edge_agent.sources import open_source
from edge_agent.sources.base import Options
from edge_agent.sources.iio.buffer import Buffers
from edge_agent.sources.iio.sensor import CLIPPED, Sensor
from edge_agent.sources.iio.source import Poller, find
from tests.edge_agent.fake_iio import FakeDevice
from tests.edge_agent.motion import BEGIN, until

TURNED = "0.7071068, -0.7071068, 0; 0.7071068, 0.7071068, 0; 0, 0, 1"


def accelerometer(device, given=None):
    return Sensor(device.link, "accel", given)


def devices(tmp_path):
    return tmp_path / "sys/bus/iio/devices"


def test_readings_are_in_g_and_radians_along_the_axes_of_the_device(tmp_path):
    device = FakeDevice(tmp_path, 0, "mpu6050", matrix="0, 1, 0; -1, 0, 0; 0, 0, 1")
    device.move([0.5, -0.25, 1.0], [1.0, 2.0, -3.0])
    acc, gyro = find("mpu6050", devices(tmp_path), Options())
    np.testing.assert_allclose(acc.read(), [-0.25, -0.5, 1.0], atol=2e-4)
    np.testing.assert_allclose(gyro.read(), [2.0, -1.0, -3.0], atol=1e-3)
    for sensor in (acc, gyro):
        sensor.close()


def test_a_sensor_tells_if_its_readings_may_mean_something_else(tmp_path):
    device = FakeDevice(tmp_path, 0, "mpu6050")
    sensor = accelerometer(device)
    sensor.check()
    device.write("in_accel_scale", 2 * device.scales["accel"])
    with pytest.raises(OSError, match="its scale changed"):
        sensor.check()
    device.write("in_accel_scale", "")
    with pytest.raises(OSError, match="its scale changed"):
        sensor.check()
    device.unplug()
    with pytest.raises(OSError, match="no such device"):
        sensor.check()
    sensor.close()


def test_offset_comes_before_scale_and_an_axis_may_have_its_own(tmp_path):
    device = FakeDevice(tmp_path, 0, "chip", kinds=("accel",), matrix="")
    for axis, raw in zip("xyz", (10, 20, 30), strict=True):
        device.write(f"in_accel_{axis}_raw", raw)
    device.write("in_accel_offset", 5)
    device.write("in_accel_y_offset", -20)
    device.write("in_accel_z_scale", 0.1)
    sensor = accelerometer(device)
    scale = device.scales["accel"]
    np.testing.assert_allclose(sensor.read() * 9.80665, [15 * scale, 0.0, 3.5])
    sensor.close()


@pytest.mark.parametrize(
    ("types", "given", "full"),
    [
        ("le:s16/16>>0", None, 32767),
        ("be:s12/16>>4", None, 2047),
        ("le:s16/16X1>>0", None, 32767),
        ("le:s16/16>>0", 2.0, 2.0 * 9.80665 / 0.002394),
        ("", 4.0, 4.0 * 9.80665 / 0.002394),
    ],
)
def test_a_reading_at_full_scale_is_marked_in_any_direction(tmp_path, types, given, full):
    device = FakeDevice(tmp_path, 0, "chip", kinds=("accel",), types=types, matrix=TURNED)
    sensor = accelerometer(device, given)
    fine, clipped = sensor.convert(np.array([[0.99 * full, 0.99 * full, 0.0], [0.0, full, 0.0]]))
    assert sensor.range == pytest.approx(full * 0.002394 / 9.80665)
    assert np.abs(fine).max() < CLIPPED / 1000
    assert (clipped == CLIPPED).all()
    np.testing.assert_allclose(
        np.linalg.norm(fine), np.sqrt(2) * 0.99 * full * 0.002394 / 9.80665, rtol=1e-6
    )


@pytest.mark.parametrize(
    ("settings", "change", "reason"),
    [
        ({"types": ""}, None, "--acc-range"),
        ({"rate": "26"}, None, "it samples 26 times a second"),
        ({"matrix": "1, 0; 0, 1"}, None, "is no rotation"),
        ({"matrix": "2, 0, 0; 0, 1, 0; 0, 0, 1"}, None, "is no rotation"),
        (
            {"matrix": "1, 0, 0; 0, 1, 0; 0, 0, -1"},
            None,
            r"matrix '1, 0, 0; 0, 1, 0; 0, 0, -1' mirrors .* correct the",
        ),
        ({"matrix": "0, 1, 0; 1, 0, 0; 0, 0, 1"}, None, "determinant is -1"),
        ({}, "in_accel_scale", "the unit of its readings"),
    ],
)
def test_a_sensor_that_cannot_be_trusted_is_refused_with_the_remedy(
    tmp_path, settings, change, reason
):
    device = FakeDevice(tmp_path, 0, "chip", **settings)
    if change:
        device.remove(change)
    with pytest.raises(SourceError, match=reason):
        open_source(f"iio:{tmp_path}/chip", Options())


@pytest.mark.parametrize("scale", ["abc", "0", "0.0", "inf", ""])
def test_a_scale_that_is_none_is_named(tmp_path, scale):
    device = FakeDevice(tmp_path, 0, "chip")
    device.write("in_accel_scale", scale)
    with pytest.raises(
        SourceError,
        match=f"in_accel_scale: '{scale}' is no scale; write one of in_accel_scale_available",
    ):
        open_source(f"iio:{tmp_path}/chip", Options())


@pytest.mark.parametrize("types", ["le:s16/16>>0", ""])
@pytest.mark.parametrize("full", [0.0, -1.0, np.inf, np.nan])
def test_a_full_scale_that_would_let_everything_or_nothing_pass_is_refused(tmp_path, full, types):
    FakeDevice(tmp_path, 0, "chip", types=types)
    with pytest.raises(
        SourceError,
        match=f"full scale {full} of accel: it must be finite and above 0; see --acc-range",
    ):
        open_source(f"iio:{tmp_path}/chip", Options(acc_range=full, gyro_range=10.0))
    with pytest.raises(SourceError, match=f"full scale {full} of anglvel: .* see --gyro-range"):
        open_source(f"iio:{tmp_path}/chip", Options(acc_range=8.0, gyro_range=full))


def test_devices_are_found_by_place_name_label_and_in_halves(tmp_path):
    FakeDevice(tmp_path, 0, "lsm6dsl_accel", kinds=("accel",))
    FakeDevice(tmp_path, 1, "lsm6dsl_gyro", kinds=("anglvel",))
    FakeDevice(tmp_path, 2, "mpu6050").write("label", "wrist")
    FakeDevice(tmp_path, 3, "mpu6050")
    where = devices(tmp_path)
    (where / "iio:device4").mkdir()
    for name, expected in (
        ("lsm6dsl", [0, 1]), ("lsm6dsl_accel+lsm6dsl_gyro", [0, 1]), ("iio:device0+iio:device1", [0, 1]),
        ("iio:device3", [3, 3]), ("wrist", [2, 2]), ("iio:device0+lsm6dsl_gyro", [0, 1]),
    ):  # fmt: skip
        found = find(name, where, Options())
        assert [sensor.folder.name for sensor in found] == [f"iio:device{k}" for k in expected]
    for name in ("mpu6050", "lsm6dsl_accel", "bmi160", ""):
        with pytest.raises(
            SourceError, match=r"it must be one; in .* are: iio:device0 \(lsm6dsl_accel\), "
        ):
            find(name, where, Options())


def test_a_device_that_comes_back_is_found_again(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SEARCH", 0.05)
    device = FakeDevice(tmp_path, 0, "mpu6050")
    with closing(open_source(f"iio:{tmp_path}/mpu6050", Options())) as source:
        source.resume(START)
        reader = source._reader
        until(lambda: reader.read())
        device.unplug()
        until(lambda: not reader.read() and reader._backend is None)
        assert 0 <= source.delay() <= 0.05
        until(
            lambda: (
                any("looked for in vain" in kind for kind in reader.tally.counts) or reader.read()
            )
        )
        device.plug()
        until(lambda: reader.read())
        assert source.delay() == module.LOOK
        assert not source.ended
        assert not source.replayable
    assert any("went away" in kind for kind in reader.tally.counts)


def test_a_device_that_falls_silent_is_opened_anew_in_the_way_that_is_left(
    tmp_path, monkeypatch, caplog
):
    """Somebody switches the buffer on, so that single readings are refused, and off again."""
    monkeypatch.setattr(module, "SEARCH", 0.05)
    monkeypatch.setattr(module, "SILENCE", 0.3)
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
