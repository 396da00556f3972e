"""Devices of Linux IIO by the names that they have."""

from __future__ import annotations

import pytest

from edge_agent.errors import SourceError
from edge_agent.sources.base import Options
from edge_agent.sources.iio.search import find
from tests.edge_agent.sources.iio.fake_iio import FakeDevice, devices


def test_devices_are_found_by_place_name_label_and_in_halves(tmp_path):
    FakeDevice(tmp_path, 0, "lsm6dsl_accel", kinds=("accel",))
    FakeDevice(tmp_path, 1, "lsm6dsl_gyro", kinds=("anglvel",))
    FakeDevice(tmp_path, 2, "mpu6050").write("label", "wrist")
    FakeDevice(tmp_path, 3, "mpu6050")
    where = devices(tmp_path)
    (where / "iio:device4").mkdir()
    for name, expected in (
        ("lsm6dsl", [0, 1]),
        ("lsm6dsl_accel+lsm6dsl_gyro", [0, 1]),
        ("iio:device0+iio:device1", [0, 1]),
        ("iio:device3", [3, 3]),
        ("wrist", [2, 2]),
        ("iio:device0+lsm6dsl_gyro", [0, 1]),
    ):
        sensors = find(name, where, Options())
        assert [sensor.folder.name for sensor in sensors] == [f"iio:device{k}" for k in expected]
    several = r"it must be one; in .* are: iio:device0 \(lsm6dsl_accel\), "
    for name in ("mpu6050", "lsm6dsl_accel", "bmi160", ""):
        with pytest.raises(SourceError, match=several):
            find(name, where, Options())
