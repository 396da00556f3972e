"""Reading the label file as it grows."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path

from edge_agent.errors import StorageError
from edge_agent.labels.file import FILE, open_plain
from edge_agent.labels.timeline import Event, Timeline

log = logging.getLogger("fsir.labels")


class Tail:
    """The time line of a label file, brought up to date by `refresh`."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / FILE
        self._inode = 0
        self._at = 0
        self._complained = False
        self.timeline = Timeline()

    def exists(self) -> bool:
        """Whether anybody has ever given a label."""
        return self._path.exists()

    def refresh(self) -> None:
        """Read the complete lines that were added since the last time."""
        try:
            status = os.lstat(self._path)
            if status.st_ino == self._inode and status.st_size == self._at:
                return
            file = open_plain(self._path, os.O_RDONLY)
            try:
                self._read(file)
            finally:
                os.close(file)
            self._complained = False
        except FileNotFoundError:
            self._start_anew(0)
        except OSError as error:
            self._complain(f"{self._path}: {error.strerror}; check the owner of the file")
        except StorageError as error:
            self._complain(str(error))

    def _complain(self, reason: str) -> None:
        if not self._complained:
            log.error("labels cannot be read: %s", reason)
        self._complained = True

    def _start_anew(self, inode: int) -> None:
        self._inode = inode
        self._at = 0
        self.timeline = Timeline()

    def _read(self, file: int) -> None:
        status = os.fstat(file)
        if status.st_ino != self._inode or status.st_size < self._at:
            self._start_anew(status.st_ino)
        text = os.pread(file, status.st_size - self._at, self._at)
        whole = text[: text.rfind(b"\n") + 1]
        self._at += len(whole)
        lines = [line for line in whole.split(b"\n") if line.strip()]
        events = [event for line in lines if (event := Event.decode(line)) is not None]
        now = time.time()
        for event in events:
            self.timeline.add(event, now)
        if len(events) < len(lines):
            log.warning("%s: %d broken lines skipped", self._path, len(lines) - len(events))
