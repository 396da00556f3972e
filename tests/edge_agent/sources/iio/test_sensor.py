"""One sensor of Linux IIO against a faithful tree: units, frames, full scale, what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from edge_agent.errors import SourceError
from edge_agent.sources import open_source
from edge_agent.sources.base import Options
from edge_agent.sources.iio.search import find
from edge_agent.sources.iio.sensor import CLIPPED, Sensor
from tests.edge_agent.sources.iio.fake_iio import FakeDevice, devices

TURNED = "0.7071068, -0.7071068, 0; 0.7071068, 0.7071068, 0; 0, 0, 1"


def accelerometer(device, given=None):
    return Sensor(device.link, "accel", given)


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
    length = np.sqrt(2) * 0.99 * full * 0.002394 / 9.80665
    np.testing.assert_allclose(np.linalg.norm(fine), length, rtol=1e-6)


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
    remedy = f"in_accel_scale: '{scale}' is no scale; write one of in_accel_scale_available"
    with pytest.raises(SourceError, match=remedy):
        open_source(f"iio:{tmp_path}/chip", Options())


@pytest.mark.parametrize("types", ["le:s16/16>>0", ""])
@pytest.mark.parametrize("full", [0.0, -1.0, np.inf, np.nan])
def test_a_full_scale_that_would_let_everything_or_nothing_pass_is_refused(tmp_path, full, types):
    FakeDevice(tmp_path, 0, "chip", types=types)
    remedy = f"full scale {full} of accel: it must be finite and above 0; see --acc-range"
    with pytest.raises(SourceError, match=remedy):
        open_source(f"iio:{tmp_path}/chip", Options(acc_range=full, gyro_range=10.0))
    with pytest.raises(SourceError, match=f"full scale {full} of anglvel: .* see --gyro-range"):
        open_source(f"iio:{tmp_path}/chip", Options(acc_range=8.0, gyro_range=full))
