"""The label file: what is appended is kept whole or not at all, and nothing else is touched."""

from __future__ import annotations

import errno
import os
import stat
import threading

import pytest

from edge_agent.errors import StorageError
from edge_agent.labels import file as label_file
from edge_agent.labels.timeline import Event
from tests.edge_agent.labels.tails import tail_of


def test_a_torn_line_does_not_take_the_next_label_along_in_a_long_file_either(tmp_path):
    line = Event(5.0, "walking", 6.0).encode()
    many = label_file.LARGEST_BYTES // len(line) + 2
    (tmp_path / label_file.FILE).write_bytes(line * many + line[:-10])
    label_file.append(tmp_path, Event(7.0, "sitting", 8.0))
    lines = (tmp_path / label_file.FILE).read_bytes().splitlines(keepends=True)
    assert lines[-1] == Event(7.0, "sitting", 8.0).encode()
    assert set(lines[:-1]) == {line}


def test_the_file_stays_bounded_and_nobody_loses_a_line(tmp_path, monkeypatch):
    """Four writers at once, across several times that the file is replaced by its newest half."""
    each = 250
    padding = "x" * 190

    def press(writer: int) -> None:
        for k in range(each):
            label_file.append(tmp_path, Event(float(4 * k + writer), padding, 4 * k + writer + 0.5))

    monkeypatch.setattr(label_file, "LARGEST_BYTES", 100_000)
    writers = [threading.Thread(target=press, args=(w,)) for w in range(4)]
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join()
    assert (tmp_path / label_file.FILE).stat().st_size < 100_000 + 300
    lines = (tmp_path / label_file.FILE).read_bytes().splitlines()
    assert all(Event.decode(line) is not None for line in lines)
    kept = sorted(Event.decode(line).time for line in lines)
    assert tail_of(tmp_path).timeline.over(kept[-1], kept[-1]) == padding
    for writer in range(4):  # of each writer the newest ones, without a hole
        mine = [time for time in kept if time % 4 == writer]
        assert mine == [float(4 * k + writer) for k in range(each - len(mine), each)]
    assert not (tmp_path / "labels.new").exists()


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize("fails", ["write", "fsync"])
def test_half_a_write_is_taken_back_and_a_slow_one_goes_on(tmp_path, monkeypatch, fails, long):
    monkeypatch.setattr(label_file, "LARGEST_BYTES", 40 if long else 10_000)
    for k in range(2):
        label_file.append(tmp_path, Event(float(k), "a", 100.0))
    before = (tmp_path / label_file.FILE).read_bytes()
    real = os.write

    def slow(file, text):
        return real(file, text[:5])

    def full(file, text):
        return slow(file, text) if len(text) > 30 else 0

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full if fails == "write" else slow)
        if fails == "fsync":
            patch.setattr(os, "fsync", fail)
        with pytest.raises(StorageError, match="the label was not kept"):
            label_file.append(tmp_path, Event(50.0, "b", 100.0))
    assert (tmp_path / label_file.FILE).read_bytes() == before
    assert os.listdir(tmp_path) == [label_file.FILE]
    monkeypatch.setattr(os, "write", slow)
    label_file.append(tmp_path, Event(50.0, "b", 100.0))
    assert tail_of(tmp_path).timeline.over(60.0, 61.0) == "b"


def fail(file):
    raise OSError(errno.EIO, "it burns")


def folder_and_victim(tmp_path):
    """A state directory, of another user if we are root, and a file that is not its business."""
    state = tmp_path / "state"
    victim = tmp_path / "passwd"
    state.mkdir()
    victim.write_bytes(b"root\n")
    if os.geteuid() == 0:
        os.chown(state, 12345, 12345)
    return state, victim


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
    state, victim = folder_and_victim(tmp_path)
    link(kind, state / label_file.FILE, victim)
    no_file = r"labels\.jsonl is a link, or no file at all.*remove it"
    with pytest.raises(StorageError, match=no_file):
        label_file.append(state, Event(5.0, "a", 100.0))
    assert (victim.read_bytes(), victim.stat().st_uid) == (b"root\n", os.geteuid())
    assert sorted(os.listdir(tmp_path)) == ["passwd", "state"]
    if kind != "hard":  # which is read: a copy made by links (a backup) does no harm there
        tail = tail_of(state)
        tail.refresh()
        assert caplog.text.count("labels cannot be read") == 1
    label_file.forget(state)
    label_file.append(state, Event(5.0, "a", 100.0))
    assert tail_of(state).timeline.over(10.0, 11.0) == "a"
    assert (state / label_file.FILE).stat().st_uid == state.stat().st_uid


@pytest.mark.parametrize("kind", ["symbolic", "dangling", "hard", "pipe"])
def test_what_lies_where_the_new_file_is_made_is_not_written_to(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(label_file, "LARGEST_BYTES", 100)
    state, victim = folder_and_victim(tmp_path)
    for k in range(3):
        label_file.append(state, Event(float(k), "a", 100.0))
    link(kind, state / "labels.new", victim)
    label_file.append(state, Event(50.0, "b", 100.0))
    assert (victim.read_bytes(), victim.stat().st_uid) == (b"root\n", os.geteuid())
    assert os.listdir(state) == [label_file.FILE]
    assert tail_of(state).timeline.over(60.0, 61.0) == "b"
    assert (state / label_file.FILE).stat().st_uid == state.stat().st_uid
    assert stat.S_IMODE((state / label_file.FILE).stat().st_mode) == 0o600
