"""`labels.jsonl` in the state directory: label events, one JSON line each, from whoever holds the button.

The state itself is locked by the running agent, so that `fsir-agent label` appends here and the agent reads what was
appended. It works while no agent runs as well: the labels are found at the next start. A line is appended under a lock,
whole and synced; a line that is broken all the same is skipped. A file that has grown long keeps its newest half.
"""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edge_agent.errors import StorageError
from edge_agent.labels import Event, Timeline

log = logging.getLogger("fsir.labels")
FILE = "labels.jsonl"
LARGEST = 256 * 1024  # bytes, some 3000 events


def append(directory: Path, event: Event) -> None:
    """Add one event, for good."""
    path = directory / FILE
    try:
        with _locked(path) as file:
            size = os.fstat(file).st_size
            if size <= LARGEST:
                # A write that a power cut has torn must not take this line along.
                torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
                _write(file, b"\n" * torn + event.encode())
            else:
                _replace(path, _newest_half(file, size) + event.encode())
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}; the label was not kept") from error


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """The file, open to append, and nobody else's until we are done."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(file), os.stat(path)):  # else it was replaced while we waited
                _hand_over(file, path.parent)
                yield file
                return
        finally:
            os.close(file)


def _hand_over(file: int, directory: Path) -> None:
    """What root has pressed is for the agent to read, which runs as the owner of its directory."""
    owner = os.stat(directory)
    if os.geteuid() == 0 and os.fstat(file).st_uid != owner.st_uid:
        os.fchown(file, owner.st_uid, owner.st_gid)


def _write(file: int, text: bytes) -> None:
    os.write(file, text)
    os.fsync(file)


def _newest_half(file: int, size: int) -> bytes:
    return os.pread(file, size, size // 2).partition(b"\n")[2]


def _replace(path: Path, text: bytes) -> None:
    """A new file in the place of the old one; other writers still wait for the old one."""
    beside = path.with_suffix(".new")
    file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        _hand_over(file, path.parent)
        _write(file, text)
    finally:
        os.close(file)
    os.replace(beside, path)


def forget(directory: Path) -> None:
    """Delete all labels."""
    try:
        for path in (directory / FILE, (directory / FILE).with_suffix(".new")):
            path.unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"{directory / FILE}: {error.strerror}; the labels are still there") from error


class Tail:
    """The time line of a label file, brought up to date by `refresh`."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        self._inode = self._at = 0
        self._complained = False
        self.timeline = Timeline()

    def exists(self) -> bool:
        """Whether anybody has ever given a label."""
        return self._path.exists()

    def refresh(self) -> None:
        """Read the complete lines that were added since the last time."""
        try:
            found = os.stat(self._path)
            if found.st_ino == self._inode and found.st_size == self._at:
                return
            with self._path.open("rb") as file:
                self._read(file.fileno())
            self._complained = False
        except FileNotFoundError:
            self._inode, self._at, self.timeline = 0, 0, Timeline()
        except OSError as error:
            if not self._complained:
                log.error("labels cannot be read: %s: %s; check the owner of the file", self._path, error.strerror)
            self._complained = True

    def _read(self, file: int) -> None:
        found = os.fstat(file)
        if found.st_ino != self._inode or found.st_size < self._at:
            self._inode, self._at, self.timeline = found.st_ino, 0, Timeline()
        text = os.pread(file, found.st_size - self._at, self._at)
        whole = text[: text.rfind(b"\n") + 1]
        self._at += len(whole)
        lines = [line for line in whole.split(b"\n") if line.strip()]
        events = [event for line in lines if (event := Event.decode(line)) is not None]
        for event in events:
            self.timeline.add(event)
        if len(events) < len(lines):
            log.warning("%s: %d broken lines skipped", self._path, len(lines) - len(events))
