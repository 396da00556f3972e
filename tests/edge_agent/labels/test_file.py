"""The label file: what is appended is kept whole or not at all, and nothing else is ever touched."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading

import pytest

from edge_agent.errors import StorageError
from edge_agent.labels import file as label_file
from edge_agent.labels.file import Tail
from edge_agent.labels.timeline import Event


def read(directory):
    tail = Tail(directory)
    tail.refresh()
    return tail


def test_a_torn_line_does_not_take_the_next_label_along_in_a_long_file_either(tmp_path):
    line = Event(5.0, "walking", 6.0).encode()
    (tmp_path / label_file.FILE).write_bytes(
        line * (label_file.LARGEST // len(line) + 2) + line[:-10]
    )
    label_file.append(tmp_path, Event(7.0, "sitting", 8.0))
    lines = (tmp_path / label_file.FILE).read_bytes().splitlines(keepends=True)
    assert lines[-1] == Event(7.0, "sitting", 8.0).encode()
    assert set(lines[:-1]) == {line}


def test_what_is_appended_is_read_by_others_at_once_and_after_a_restart(tmp_path):
    tail = read(tmp_path)
    assert tail.timeline.over(10.0, 11.0) == ""
    label_file.append(tmp_path, Event(5.0, "a", 100.0))
    tail.refresh()
    label_file.append(tmp_path, Event(50.0, "ü", 100.0))
    tail.refresh()
    for each in (tail, read(tmp_path)):
        assert [each.timeline.over(t, t + 1) for t in (10.0, 49.5, 60.0)] == ["a", "", "ü"]
    assert stat.S_IMODE((tmp_path / label_file.FILE).stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "broken",
    [b"{", b"[]", b"null", b"\xff\xfe", b'{"time": "x", "label": "a", "until": 9}', b'{"time": 1, "label": 3}',
     b'{"time": NaN, "label": "a", "until": 9}', b'{"time": 1, "label": "' + b"x" * 300 + b'", "until": 9}',
     b'{"time": 1e999, "label": "a", "until": 9}', b"[" * 100_000],
)  # fmt: skip
def test_broken_lines_are_harmless(tmp_path, broken, caplog):
    (tmp_path / label_file.FILE).write_bytes(broken)  # torn: without an end of line
    label_file.append(tmp_path, Event(5.0, "a", 100.0))
    assert read(tmp_path).timeline.over(10.0, 11.0) == "a"
    assert "1 broken lines skipped" in caplog.text


def test_half_a_line_waits_for_its_end(tmp_path):
    whole = Event(5.0, "a", 100.0).encode()
    path = tmp_path / label_file.FILE
    path.write_bytes(whole[:10])
    tail = read(tmp_path)
    assert tail.timeline.over(10.0, 10.0) == ""
    path.write_bytes(whole)
    tail.refresh()
    assert tail.timeline.over(10.0, 10.0) == "a"


def test_the_file_stays_bounded_and_nobody_loses_a_line(tmp_path):
    """Four writers at once, across several times that the file is replaced by its newest half."""
    tail, each = Tail(tmp_path), 250
    padding = "x" * 190

    def press(writer: int) -> None:
        for k in range(each):
            label_file.append(tmp_path, Event(float(4 * k + writer), padding, 4 * k + writer + 0.5))

    before, label_file.LARGEST = label_file.LARGEST, 100_000
    try:
        writers = [threading.Thread(target=press, args=(w,)) for w in range(4)]
        for thread in writers:
            thread.start()
        for thread in writers:
            thread.join()
    finally:
        label_file.LARGEST = before
    tail.refresh()
    assert (tmp_path / label_file.FILE).stat().st_size < 100_000 + 300
    lines = (tmp_path / label_file.FILE).read_bytes().splitlines()
    assert all(Event.decode(line) is not None for line in lines)
    kept = sorted(Event.decode(line).time for line in lines)
    for writer in range(4):  # of each writer the newest ones, without a hole
        mine = [time for time in kept if time % 4 == writer]
        assert mine == [float(4 * k + writer) for k in range(each - len(mine), each)]
    assert not (tmp_path / "labels.new").exists()


# Room for so many bytes in a file, as on a disk that is nearly full; tells what `append` says and what is there after.
LITTLE_ROOM = """
import resource, sys
from pathlib import Path
from edge_agent.labels import file as label_file
from edge_agent.errors import StorageError
from edge_agent.labels.timeline import Event
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    label_file.append(Path(sys.argv[1]), Event(50000.0, "sitting", 60000.0))
except StorageError as error:
    sys.exit(str(error))
"""


@pytest.mark.parametrize("events", [10, 5000])  # appended to, and replaced by its newest half
def test_a_disk_without_room_keeps_what_it_has(tmp_path, events):
    path = tmp_path / label_file.FILE
    path.write_bytes(
        b"".join(Event(1000.0 + k, "walking", 2000.0 + k).encode() for k in range(events))
    )
    before = path.read_bytes()
    assert (len(before) > label_file.LARGEST) == (events > 10)
    room = len(before) + 20 if events == 10 else 60_000
    for limit, kept in ((room, False), (10**7, True)):
        done = subprocess.run(
            [sys.executable, "-c", LITTLE_ROOM, str(tmp_path), str(limit)],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert (done.returncode == 0) == kept, done.stderr
        assert kept or "File too large; the label was not kept" in done.stderr
        assert kept or path.read_bytes() == before
        assert (read(tmp_path).timeline.over(50000.0, 50001.0) == "sitting") == kept
        assert sorted(os.listdir(tmp_path)) == [label_file.FILE]


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("fails", ["write", "fsync"])
def test_half_a_write_is_taken_back_and_a_slow_one_goes_on(tmp_path, monkeypatch, fails, long):
    monkeypatch.setattr(label_file, "LARGEST", 40 if long else 10_000)
    for k in range(2):
        label_file.append(tmp_path, Event(float(k), "a", 100.0))
    before, real = (tmp_path / label_file.FILE).read_bytes(), os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda file, text: real(file, text[:5]))
        if fails == "write":
            patch.setattr(
                os, "write", lambda file, text: real(file, text[:5]) if len(text) > 30 else 0
            )
        else:
            patch.setattr(os, "fsync", fail)
        with pytest.raises(StorageError, match="the label was not kept"):
            label_file.append(tmp_path, Event(50.0, "b", 100.0))
    assert (tmp_path / label_file.FILE).read_bytes() == before
    assert os.listdir(tmp_path) == [label_file.FILE]
    monkeypatch.setattr(os, "write", lambda file, text: real(file, text[:5]))
    label_file.append(tmp_path, Event(50.0, "b", 100.0))
    assert read(tmp_path).timeline.over(60.0, 61.0) == "b"


def fail(file):
    raise OSError(errno.EIO, "it burns")


def link(kind, path, victim):
    if kind == "symbolic":
        path.symlink_to(victim)
    elif kind == "dangling":
        path.symlink_to(victim.with_name("nobody"))
    elif kind == "hard":
        path.hardlink_to(victim)
    else:
        os.mkfifo(path)


@pytest.mark.parametrize("kind", ["symbolic", "dangling", "hard", "pipe"])
def test_only_a_plain_file_of_the_directory_itself_is_written_to(tmp_path, kind, caplog):
    state, victim = tmp_path / "state", tmp_path / "passwd"
    state.mkdir()
    victim.write_bytes(b"root\n")
    if os.geteuid() == 0:
        os.chown(state, 12345, 12345)
    link(kind, state / label_file.FILE, victim)
    with pytest.raises(
        StorageError, match=r"labels\.jsonl is a link, or no file at all.*remove it"
    ):
        label_file.append(state, Event(5.0, "a", 100.0))
    assert (victim.read_bytes(), victim.stat().st_uid) == (b"root\n", os.geteuid())
    assert sorted(os.listdir(tmp_path)) == ["passwd", "state"]
    if kind != "hard":  # which is read: a copy made by links (a backup) does no harm there
        tail = read(state)
        tail.refresh()
        assert caplog.text.count("labels cannot be read") == 1
    label_file.forget(state)
    label_file.append(state, Event(5.0, "a", 100.0))
    assert read(state).timeline.over(10.0, 11.0) == "a"
    assert (state / label_file.FILE).stat().st_uid == state.stat().st_uid


@pytest.mark.parametrize("kind", ["symbolic", "dangling", "hard", "pipe"])
def test_what_lies_where_the_new_file_is_made_is_not_written_to(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(label_file, "LARGEST", 100)
    state, victim = tmp_path / "state", tmp_path / "passwd"
    state.mkdir()
    victim.write_bytes(b"root\n")
    if os.geteuid() == 0:
        os.chown(state, 12345, 12345)
    for k in range(3):
        label_file.append(state, Event(float(k), "a", 100.0))
    link(kind, state / "labels.new", victim)
    label_file.append(state, Event(50.0, "b", 100.0))
    assert (victim.read_bytes(), victim.stat().st_uid) == (b"root\n", os.geteuid())
    assert os.listdir(state) == [label_file.FILE]
    assert read(state).timeline.over(60.0, 61.0) == "b"
    assert (state / label_file.FILE).stat().st_uid == state.stat().st_uid
    assert stat.S_IMODE((state / label_file.FILE).stat().st_mode) == 0o600


def test_a_file_that_cannot_be_read_is_said_once(tmp_path, caplog):
    (tmp_path / label_file.FILE).mkdir()
    tail = read(tmp_path)
    tail.refresh()
    assert caplog.text.count("labels cannot be read") == 1
