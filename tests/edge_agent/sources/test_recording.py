"""`signals:FILE`: the windows of a recording, each once, also after any interruption."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import edge_agent.sources.recording as module
from edge_agent.errors import SourceError
from edge_agent.records import START
from edge_agent.signal.features import FEATURE_NAMES, features, scale
from edge_agent.signal.windows import Windower
from edge_agent.sources import open_source
from edge_agent.sources.base import Options
from edge_agent.sources.paced import Paced
from tests.edge_agent.motion import BEGIN, FIRST, OPTIONS, read, recording, write_recording
from tests.edge_agent.sources.files import stored


def test_windows_become_records_with_scaled_features_times_and_labels(tmp_path):
    times, acc, gyro = recording(12)
    labels = ["walking" if time < BEGIN + 6 else "standing" for time in times]
    records, source = read(write_recording(tmp_path / "a.csv", times, acc, gyro, labels))
    windows = Windower(acc_range=8.0, gyro_range=35.0).push(times, acc, gyro)
    assert [record.position.ordinal for record in records] == [window.index for window in windows]
    rows = scale(features(np.stack([window.signals for window in windows])))
    values = [[record.x[name] for name in FEATURE_NAMES] for record in records]
    np.testing.assert_array_equal(values, rows)
    for record in records:
        start, stop = record.span
        begin = record.position.ordinal * 1.28
        assert (start, stop) == pytest.approx((begin, begin + 2.56))
        expected = "walking" if stop <= BEGIN + 6 else "standing" if start >= BEGIN + 6 else None
        assert record.y == expected
    assert {record.y for record in records} == {"walking", "standing", None}
    assert source.name == source.stream == f"signals:{tmp_path / 'a.csv'}"
    assert source.replayable


def trouble(kind):
    """Rows in the order in which they are in the file."""
    times, acc, gyro = recording(40, seed=kind)
    order = np.arange(len(times))
    if kind == 1:  # a lost stretch; each third sample twice; a few old rows late
        rows = np.r_[0:300, 340:600, 597:600, 600:900, 620:625, 900:2000]
        order = rows[np.sort(np.r_[np.arange(len(rows)), np.arange(0, len(rows), 3)])]
    elif kind == 2:
        # A stretch is there twice, the clock goes back into what is open, and far ahead.
        order = np.r_[0:800, 400:800, 800:1000, 960:1300, 1300:1301, 1270:2000]
        times[1700:1750] += 3600.0
    elif kind == 3:  # readings that are none, and a clock that went back for good
        acc[700, 1] = np.nan
        gyro[900] = 35.0
        times[1200:] -= 9.0
    labels = np.array(["a", "b", "", "c"])[(np.arange(len(times)) // 170) % 4]
    return times[order], acc[order], gyro[order], labels[order].tolist()


@pytest.fixture(scope="module")
def troubled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("signals")
    paths = [write_recording(folder / f"{kind}.csv", *trouble(kind)) for kind in range(4)]
    rows = paths[0].read_bytes().splitlines(keepends=True)
    rows[300] = b'"' + rows[300][1:]
    rows[500] = rows[500].replace(b",", b',"', 1)
    rows[700] = rows[700][:30] + b"\r" + rows[700][31:]
    rows[900] = rows[900][:-1]  # one with the next
    rows[1100] = rows[1100][:12] + b"\n" + rows[1100][13:]
    rows[1300] = b"\0" * 4096 + rows[1300]
    rows[1500] = b"7" * 200_000 + rows[1500]  # too long for a field
    paths.append(folder / "damaged.csv")
    paths[4].write_bytes(b"".join(rows))
    return [(path, *read(path)) for path in paths]


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 4), st.integers(3, 700), st.lists(st.integers(0, 25), min_size=1, max_size=3))
def test_stopped_anywhere_and_resumed_the_records_are_the_same(troubled, kind, rows, stops):
    path, whole, reference = troubled[kind]
    ordinals = [record.position.ordinal for record in whole]
    assert ordinals == sorted(set(ordinals))
    assert len(whole) > 8
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ROWS", rows)
        after = START
        records = []
        for stop in stops:
            part, _ = read(path, after, limit=3)
            records += part[:stop]
            after = stored(records[-1].position) if records else START
        rest, source = read(path, after, limit=3)
    assert [replace(record, position=stored(record.position)) for record in records + rest] == [
        replace(record, position=stored(record.position)) for record in whole
    ]
    if stops == [0]:
        assert source.tally.counts == reference.tally.counts


@pytest.fixture(scope="module")
def walk(tmp_path_factory):
    """A recording of twelve seconds: its folder, its bytes, its records."""
    folder = tmp_path_factory.mktemp("walk")
    times, acc, gyro = recording(12)
    path = write_recording(folder / "a.csv", times, acc, gyro, ["a"] * len(times))
    return folder, path.read_bytes(), by_ordinal(read(path)[0])


def by_ordinal(records):
    return {record.position.ordinal: (dict(record.x), record.y) for record in records}


@pytest.mark.long
@settings(max_examples=120, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 255) | st.sampled_from(list(b'",;\r\n\0 -e.')))
def test_a_damaged_byte_costs_the_windows_of_its_own_row_alone(walk, place, byte):
    folder, raw, whole = walk
    header = raw.index(b"\n") + 1
    at = header + place % (len(raw) - header)
    damaged = raw[:at] + bytes([byte]) + raw[at + 1 :]
    path = folder / "damaged.csv"
    path.write_bytes(damaged)
    after = by_ordinal(read(path)[0])
    touched = [ordinal for ordinal in whole | after if whole.get(ordinal) != after.get(ordinal)]
    start = raw.rfind(b"\n", 0, at) + 1
    # A sample is in two windows. One with another time leaves two and enters one more at most
    # before the clock is seen to go back; a row without its end takes the next one along.
    in_time = at < raw.index(b",", start)
    assert len(touched) <= (3 if in_time or raw[at] == 10 else 2)


def test_a_clean_recording_is_read_again_from_the_start_of_the_window_only(tmp_path):
    path = write_recording(tmp_path / "a.csv", *recording(60))
    whole, _ = read(path)
    source = open_source(f"signals:{path}", OPTIONS)
    source.resume(whole[-2].position)
    rest = sum(len(samples.times) for samples in source._reader.read())
    assert rest < 4 * 64 + 8  # of 3000
    source.close()


def test_a_file_that_grows_is_followed(tmp_path):
    path = write_recording(tmp_path / "a.csv", *recording(10))
    whole, _ = read(path)
    text = path.read_bytes()
    path.write_bytes(b"")
    source = open_source(f"signals:{path}", OPTIONS._replace(follow=True))
    source.resume(START)
    records = []
    with path.open("ab") as file:
        for k in range(0, len(text), 777):
            file.write(text[k : k + 777])
            file.flush()
            records += source.poll(5)
            assert not source.ended
    while more := source.poll(5):
        records += more
    assert [record.x for record in records] == [record.x for record in whole]
    assert source.delay() > 0
    source.close()


def test_rows_that_cannot_be_read_are_skipped_and_said(tmp_path, caplog):
    times, acc, gyro = recording(12)
    path = write_recording(tmp_path / "a.csv", times, acc, gyro)
    lines = path.read_text().splitlines()
    lines[5:5] = ["noon,1,2,3,4,5,6", "1,2", "-5,0,0,0,0,0,0", "1700000000000,0,0,0,0,0,0"]
    lines[400] = lines[400].rpartition(",")[0] + ",broken"
    path.write_text("\n".join(lines) + "\n")
    records, _ = read(path)
    assert "rows skipped" in caplog.text
    assert "a reading is not a number" in caplog.text
    hurt = int((times[400 - 5] - BEGIN) / 1.28)
    faulty = {record.position.ordinal: record.fault for record in records if record.fault}
    assert faulty == dict.fromkeys([FIRST + hurt - 1, FIRST + hurt], "not finite")
    assert len(records) >= 5


def test_times_may_be_iso_and_relative(tmp_path):
    times, acc, gyro = recording(8, start=0.0)
    early, _ = read(write_recording(tmp_path / "early.csv", times, acc, gyro))
    assert [record.position.ordinal for record in early] == [0, 1, 2, 3, 4]
    path = write_recording(tmp_path / "iso.csv", times, acc, gyro)
    head, *lines = path.read_text().splitlines()
    since = np.round(times * 1e6).astype("timedelta64[us]")
    dates = np.datetime64("1970-01-01T00:00:00") + since
    rows = [
        f"{date}+00:00,{line.partition(',')[2]}" for date, line in zip(dates, lines, strict=True)
    ]
    path.write_text("\n".join([head, *rows]))
    iso, _ = read(path)
    assert [record.position.ordinal for record in iso] == [0, 1, 2, 3, 4]


def test_replayed_at_the_pace_of_the_recording(tmp_path):
    path = write_recording(tmp_path / "a.csv", *recording(12))
    now = [50.0]
    source = Paced(open_source(f"signals:{path}", OPTIONS), "time", 2.0, clock=lambda: now[0])
    source.resume(START)
    assert len(source.poll(16)) == 1
    assert source.delay() == pytest.approx(0.64)
    now[0] += 1.28
    assert len(source.poll(16)) == 2
    source.close()


def test_another_file_under_the_same_name_is_refused(tmp_path):
    path = write_recording(tmp_path / "a.csv", *recording(12))
    records, _ = read(path)
    write_recording(path, *recording(12, seed=1))
    with pytest.raises(SourceError, match="counted twice"):
        read(path, records[3].position)


def test_columns_that_changed_places_are_noticed(tmp_path):
    path = write_recording(tmp_path / "a.csv", *recording(12))
    records, _ = read(path)
    path.write_text(path.read_text().replace("acc_x,acc_y", "acc_y,acc_x", 1))
    with pytest.raises(SourceError, match="the header is not the one"):
        read(path, records[3].position)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (Options(gyro_range=35.0), "--acc-range"),
        (Options(acc_range=8.0), "--gyro-range"),
        (
            Options(acc_range=-1.0, gyro_range=35.0),
            "--acc-range -1: a full scale is finite and above 0",
        ),
        (OPTIONS, "no column gyro_z in the header"),
    ],
)
def test_what_is_missing_is_said(tmp_path, options, reason):
    path = tmp_path / "a.csv"
    path.write_text("time,acc_x,acc_y,acc_z,gyro_x,gyro_y\n1,2,3,4,5,6\n")
    with pytest.raises(SourceError, match=reason):
        read(path, options=options)


@pytest.mark.data
def test_a_real_recording_gives_the_records_of_the_data_set(data_dir, tmp_path):
    from sim_devices.datasets import hapt
    from sim_devices.datasets.population import ACTIVITIES

    recordings = hapt.read_recordings(data_dir / "hapt")
    user = 5
    names = ["", *ACTIVITIES, *(f"transition {k}" for k in range(7, 13))]
    parts = []
    for first, rows in hapt._layout(recordings, user):
        times = (first * 64 + np.arange(len(rows)) + 0.5) / 50
        labels = [names[k] for k in recordings.activity[rows]]
        parts.append((times, recordings.acc[rows], recordings.gyro[rows], labels))
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
    path = write_recording(tmp_path / "person.csv", *columns[:3], columns[3].tolist())
    records, _ = read(path, options=Options(acc_range=2.0, gyro_range=10.0))
    person = hapt.stream_of(recordings, user, 0, Counter())
    mine = [record for record in records if record.y in ACTIVITIES]
    assert len(mine) == len(person.y) > 250
    assert [record.y for record in mine] == person.y.tolist()
    np.testing.assert_array_equal([list(record.x.values()) for record in mine], person.X)
