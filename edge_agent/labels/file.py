"""`labels.jsonl` in the state directory: label events, one JSON line each.

They come from whoever holds the button.
The state itself is locked by the running agent, so that `fsir-agent label` appends here and the
agent reads what was appended. It works while no agent runs as well: the labels are found at the
next start. A line is appended under a lock, whole and synced, or not at all; a line that is broken
all the same is skipped. A file that has grown long keeps its newest half. Root may press in the
directory of another user: only a plain file of that directory itself is written to and handed over,
never what a link leads to.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from edge_agent.errors import StorageError
from edge_agent.labels.timeline import Event

FILE = "labels.jsonl"
BESIDE = "labels.new"
LARGEST_BYTES = 256 * 1024  # some 3000 events
# And nobody waits for the other end of a pipe.
_NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def append(directory: Path, event: Event) -> None:
    """Add one event, for good."""
    path = directory / FILE
    try:
        with _opened(directory) as place, _locked(path, place) as file:
            size = os.fstat(file).st_size
            if size <= LARGEST_BYTES:
                # A write that a power cut has torn must not take this line along.
                torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
                _write(file, b"\n" * torn + event.encode())
            else:
                _replace(place, _newest_half(file, size) + event.encode())
            with suppress(OSError):  # some file systems cannot
                os.fsync(place)  # a file that is new must be found after a power cut
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror}; the label was not kept") from error


@contextmanager
def _opened(directory: Path) -> Iterator[int]:
    """The directory: whatever its path leads to later, we work in this one."""
    place = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield place
    finally:
        os.close(place)


@contextmanager
def _locked(path: Path, place: int) -> Iterator[int]:
    """The file, open to append, and nobody else's until we are done."""
    while True:
        file = open_plain(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, place)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            if _is_there(file, place):  # else it was replaced or deleted while we waited
                _hand_over(file, place)
                yield file
                return
        finally:
            os.close(file)


def open_plain(path: Path, flags: int, place: int | None = None) -> int:
    """Open the label file in its directory, unless it is something else."""
    name = path if place is None else path.name
    try:
        file = os.open(name, flags | _NO_LINK, 0o600, dir_fd=place)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):  # a symbolic link, a socket
            raise _not_plain(path) from None
        raise
    status = os.fstat(file)
    # One to be written to must have no other name either: it could be that of a file of somebody
    # else.
    if not stat.S_ISREG(status.st_mode) or (place is not None and status.st_nlink > 1):
        os.close(file)
        raise _not_plain(path)
    return file


def _not_plain(path: Path) -> StorageError:
    return StorageError(
        f"{path} is a link, or no file at all: it is not touched; "
        "remove it, and labels go into a new one"
    )


def _is_there(file: int, place: int) -> bool:
    try:
        return os.path.samestat(os.fstat(file), os.stat(FILE, dir_fd=place, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _hand_over(file: int, place: int) -> None:
    """What root has pressed is for the agent to read, which runs as the owner of its directory."""
    owner = os.fstat(place)
    if os.geteuid() == 0 and os.fstat(file).st_uid != owner.st_uid:
        os.fchown(file, owner.st_uid, owner.st_gid)


def _write(file: int, text: bytes) -> None:
    """All of it, or an error and the file as it was: a disk may be full in the middle of a line."""
    before = os.fstat(file).st_size
    try:
        while text:
            if not (done := os.write(file, text)):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            text = text[done:]
        os.fsync(file)
    except OSError:
        # The first error counts; half a line is skipped by readers, ended by the next writer.
        with suppress(OSError):
            os.ftruncate(file, before)
        raise


def _newest_half(file: int, size: int) -> bytes:
    half = os.pread(file, LARGEST_BYTES // 2, size - LARGEST_BYTES // 2).partition(b"\n")[2]
    return half[: half.rfind(b"\n") + 1]  # without a line that a power cut has torn


def _replace(place: int, text: bytes) -> None:
    """A new file in the place of the old one, once it is complete.

    Other writers still wait for the old one.
    """
    with suppress(FileNotFoundError):
        os.unlink(BESIDE, dir_fd=place)  # left behind by a writer that was killed
    file = os.open(BESIDE, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o600, dir_fd=place)
    try:
        _hand_over(file, place)
        _write(file, text)
        os.replace(BESIDE, FILE, src_dir_fd=place, dst_dir_fd=place)
    except OSError:
        with suppress(OSError):
            os.unlink(BESIDE, dir_fd=place)
        raise
    finally:
        os.close(file)


def forget(directory: Path) -> None:
    """Delete all labels."""
    try:
        for name in (FILE, BESIDE):
            (directory / name).unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(
            f"{directory / FILE}: {error.strerror}; the labels are still there"
        ) from error
