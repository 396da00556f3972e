"""Where served records go, as JSON lines.

To standard output, into a file, or to whoever connects to a local socket.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
from pathlib import Path
from typing import Any, Protocol, TextIO

from edge_agent.errors import SourceError

log = logging.getLogger("fsir.output")
MOST_READERS = 64  # of one socket; descriptors are needed for other things, too


class Output(Protocol):
    """Takes served records."""

    def write(self, served: dict[str, Any]) -> None:
        """One record."""

    def flush(self) -> None:
        """Make what was written visible."""

    def close(self) -> None:
        """Let go."""


def open_output(address: str) -> Output:
    """`-` for standard output, `unix:PATH` for a socket, anything else is a file to append to."""
    if address.startswith("unix:"):
        return LocalSocket(address.removeprefix("unix:"))
    if address == "-":
        return Lines(sys.stdout)
    try:
        return Lines(open(address, "a", encoding="utf-8"))
    except OSError as error:
        raise SourceError(
            f"output {address}: {error.strerror}; give a file that can be written"
        ) from None


class Lines:
    """JSON lines into a text file."""

    def __init__(self, file: TextIO) -> None:
        self._file: TextIO | None = file

    def write(self, served: dict[str, Any]) -> None:
        """One line."""
        self._try(lambda file: file.write(json.dumps(served) + "\n"))

    def flush(self) -> None:
        """Out of the buffer."""
        self._try(lambda file: file.flush())

    def _try(self, action: Any) -> None:
        if self._file is None:
            return
        try:
            action(self._file)
        except OSError as error:  # a full disk or a closed pipe must not stop learning
            log.error("served records can no longer be written: %s", error)
            self._file = None

    def close(self) -> None:
        """Flush; close what is ours."""
        self.flush()
        if self._file not in (None, sys.stdout):
            self._try(lambda file: file.close())


class LocalSocket:
    """JSON lines to every program that is connected to a Unix socket of this machine."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            if self._path.is_socket():
                # Left behind by an agent that was killed; the lock on the state keeps us alone.
                self._path.unlink()
            before = os.umask(0o177)  # only the owner may listen in
            try:
                self._listener.bind(path)
            finally:
                os.umask(before)
        except OSError as error:
            self._listener.close()
            raise SourceError(
                f"output unix:{path}: {error.strerror}; give a path that is free and short"
            ) from None
        self._listener.listen(8)
        self._listener.setblocking(False)
        self._readers: list[socket.socket] = []
        self._complained = False

    def write(self, served: dict[str, Any]) -> None:
        """One line to everyone; a reader that is too slow or gone is let go."""
        self._accept()
        line = (json.dumps(served) + "\n").encode()
        for reader in list(self._readers):
            try:
                if reader.send(line) == len(line):
                    continue
            except OSError:
                pass
            reader.close()
            self._readers.remove(reader)

    def _accept(self) -> None:
        while len(self._readers) < MOST_READERS:
            try:
                reader, _ = self._listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                self._complain(error)
                return
            self._complained = False
            reader.setblocking(False)
            self._readers.append(reader)

    def _complain(self, error: OSError) -> None:
        """Out of descriptors, say: those who read already must not suffer."""
        if not self._complained:
            log.error(
                "output unix:%s: nobody more can connect for now: %s", self._path, error.strerror
            )
        self._complained = True

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """Close and remove the socket."""
        for reader in (*self._readers, self._listener):
            reader.close()
        self._path.unlink(missing_ok=True)
