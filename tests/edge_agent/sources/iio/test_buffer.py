"""Buffers of Linux IIO: the scans of the kernel become the windows of the same samples."""

from __future__ import annotations

import os
from contextlib import closing

import numpy as np
import pytest

from edge_agent.errors import SourceError
from edge_agent.records import START
from edge_agent.sources import open_source
from edge_agent.sources.base import Options
from edge_agent.sources.iio.buffer import in_turn
from edge_agent.sources.iio.sensor import CLIPPED
from edge_agent.sources.samples import Samples
from tests.edge_agent.motion import BEGIN, FIRST, read, recording, write_recording
from tests.edge_agent.sources.iio.fake_iio import FakeDevice, feed, halves, whole
from tests.edge_agent.sources.sensors import ordinals


@pytest.mark.parametrize("name", ["mpu6050", "lsm6dsl"])
def test_buffers_give_the_windows_of_the_same_samples(tmp_path, name):
    pipes = halves(tmp_path, "100") if name == "lsm6dsl" else whole(tmp_path)
    times, acc, gyro = recording(16, rate=100.0)
    with closing(open_source(f"iio:{tmp_path}/{name}", Options())) as source:
        source.resume(START)
        records = source.poll(16)
        for low in range(0, len(times), 90):
            part = slice(low, low + 90)
            feed(pipes, times[part], acc[part], gyro[part])
            records += source.poll(16)
    for pipe, _ in pipes:
        os.close(pipe)
    expected, _ = read(write_recording(tmp_path / "same.csv", times, acc, gyro))
    assert ordinals(records) == ordinals(expected)
    assert len(records) == 11
    values, truth = (np.array([list(one.x.values()) for one in r]) for r in (records, expected))
    # But for the 16 bits of the chip:
    assert np.abs(np.median(values - truth, axis=0)).max() < 0.1
    assert records[0].y is None
    assert records[0].span == (FIRST * 1.28, FIRST * 1.28 + 2.56)


def test_it_does_not_matter_how_often_the_agent_looks(tmp_path):
    """However much waits in the buffers of two devices, neither runs ahead of the other."""
    times, acc, gyro = recording(20, rate=104.0)
    results = []
    for look in (0.2, 1.0, 2.5, 2.9, 3.8, 4.9, 20.0):
        root = tmp_path / str(look)
        chunk = round(look * 104)
        pipes = halves(root, "104")
        records = []
        with closing(open_source(f"iio:{root}/lsm6dsl", Options())) as source:
            source.resume(START)
            for low in range(0, len(times), chunk):
                part = slice(low, low + chunk)
                feed(pipes, times[part], acc[part], gyro[part])
                while more := source.poll(16):
                    records += more
            assert source.tally.counts.total() == 1  # the window before the first one
        for pipe, _ in pipes:
            os.close(pipe)
        assert ordinals(records) == list(range(FIRST, FIRST + 14))
        results.append([list(record.x.values()) for record in records])
    for result in results[1:]:
        np.testing.assert_allclose(result, results[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("jump", [0.0, -0.3, -7.0, 7.0])
def test_streams_take_turns_and_keep_their_own_order(jump):
    """Also if the clock is set while samples wait: what was measured before comes before."""
    rng = np.random.default_rng(0)
    streams = []
    for rate, kind in ((104, "acc"), (208, "gyro")):
        times = BEGIN + np.arange(10 * rate) / rate + rng.uniform(0, 0.001, 10 * rate)
        times[5 * rate :] += jump
        streams.append(Samples(times=times, **{kind: rng.normal(size=(len(times), 3))}))
    streams.append(Samples(times=np.empty(0), acc=np.empty((0, 3))))
    slices = in_turn(streams)
    assert max(np.ptp(piece.times) for piece in slices) <= 1.0
    taken = {"acc": 0, "gyro": 0}
    for piece in slices:
        kind = "acc" if piece.gyro is None else "gyro"
        stream = streams[0] if piece.gyro is None else streams[1]
        part = slice(taken[kind], taken[kind] + len(piece.times))
        np.testing.assert_array_equal(piece.times, stream.times[part])
        np.testing.assert_array_equal(getattr(piece, kind), getattr(stream, kind)[part])
        taken[kind] = part.stop
        ahead = taken["acc"] / 104 - taken["gyro"] / 208  # seconds of one before the other
        assert abs(ahead) <= 1.1
    assert taken == {"acc": 1040, "gyro": 2080}


def test_channels_in_odd_places_of_a_scan(tmp_path):
    """12 bits, shifted, big endian, with a 32 bit channel before and status bits around."""
    device = FakeDevice(tmp_path, 0, "mpu6050", types="be:s12/16>>4")
    for what, value in (("type", "le:u24/32>>8"), ("index", "-1"), ("en", "1")):
        device.write(f"scan_elements/in_temp_{what}", value)
    pipe = device.switch_on()
    with closing(open_source(f"iio:{tmp_path}/mpu6050", Options())) as source:
        source.resume(START)
        words = [100, -100, 2000, -2048, 5, -1]
        axes = [((word & 0xFFF) << 4 | 0xF).to_bytes(2, "big") for word in words]
        body = b"\xff\xff\xff\x7f" + b"".join(axes)
        os.write(pipe, body + int(BEGIN * 1e9).to_bytes(8, "little"))
        (samples,) = source._reader.read()
    os.close(pipe)
    scale = device.scales["accel"] / 9.80665
    np.testing.assert_allclose(samples.acc, [[100 * scale, -100 * scale, 2000 * scale]])
    assert (samples.gyro == CLIPPED).all()  # -2048: the smallest that 12 bits can say
    assert samples.times[0] == pytest.approx(BEGIN, abs=1e-6)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("current_timestamp_clock", "monotonic"), "write realtime"),
        (("scan_elements/in_timestamp_en", "0"), "lacks in_timestamp"),
        (("scan_elements/in_accel_y_en", "0"), "lacks in_accel_y"),
    ],
)
def test_a_buffer_that_does_not_serve_is_refused(tmp_path, change, reason):
    device = FakeDevice(tmp_path, 0, "mpu6050")
    os.close(device.switch_on())
    device.write(*change)
    with (
        closing(open_source(f"iio:{tmp_path}/mpu6050", Options())) as source,
        pytest.raises(SourceError, match=reason),
    ):
        source.resume(START)


def test_one_buffer_of_two_is_refused(tmp_path):
    os.close(FakeDevice(tmp_path, 0, "a_accel", kinds=("accel",)).switch_on())
    FakeDevice(tmp_path, 1, "a_gyro", kinds=("anglvel",))
    off = "buffer of iio:device1 is off, that of iio:device0 on"
    with (
        closing(open_source(f"iio:{tmp_path}/a", Options())) as source,
        pytest.raises(SourceError, match=off),
    ):
        source.resume(START)
