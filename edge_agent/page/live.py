"""The latest served records, from the socket of the running agent.

It is open only while somebody looks, so that an agent that nobody watches encodes nothing.
"""

from __future__ import annotations

import json
import os
import socket
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any

from edge_agent.output.local import LIVE

RECORDS = 100  # of each task
_LONGEST_PATH = 107  # bytes that Linux takes for the path of a socket
_LONGEST_LINE = 1 << 20
_CHUNK_BYTES = 1 << 16
_MOST_CHUNKS = 64  # in one look: whoever is faster is let go by the agent
NOT_RUNNING = "the agent does not run"


class Live:
    """What the running agent serves; `trouble` says why there is nothing to see."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / LIVE
        self._socket: socket.socket | None = None
        self._rest = b""
        self.trouble = ""
        self.records: dict[str, deque[dict[str, Any]]] = {}

    @property
    def running(self) -> bool:
        """Whether an agent answers."""
        return self._socket is not None

    def look(self) -> None:
        """Take what has come since the last time; connect if that is needed."""
        if self._socket is None:
            self._connect()
        if self._socket is not None and not self._read(self._socket):
            self.close()
            self.trouble = NOT_RUNNING

    def _connect(self) -> None:
        length = len(os.fsencode(self._path))
        if length > _LONGEST_PATH:
            self.trouble = (
                f"the path of the state directory is too long for a live view: {length} bytes for "
                f"{self._path}, at most {_LONGEST_PATH}; a link with a short name will do"
            )
            return
        connecting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connecting.setblocking(False)
        try:
            connecting.connect(str(self._path))
        except OSError as error:
            connecting.close()
            self.trouble = _reason(error)
            return
        self._socket = connecting
        self._rest = b""
        self.trouble = ""

    def _read(self, connected: socket.socket) -> bool:
        """Read what is there; whether the agent still is."""
        with suppress(BlockingIOError):
            for _ in range(_MOST_CHUNKS):
                try:
                    chunk = connected.recv(_CHUNK_BYTES)
                except BlockingIOError:
                    raise
                except OSError:
                    return False
                if not chunk:
                    return False
                self._take(chunk)
        return True

    def _take(self, chunk: bytes) -> None:
        *lines, rest = (self._rest + chunk).split(b"\n")
        self._rest = rest[:_LONGEST_LINE]
        for line in lines:
            with suppress(ValueError, KeyError, TypeError):
                served = json.loads(line)
                of_task = self.records.setdefault(served["task"], deque(maxlen=RECORDS))
                of_task.append(served)

    def close(self) -> None:
        """Hang up."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _reason(error: OSError) -> str:
    if isinstance(error, PermissionError):
        return f"{LIVE} belongs to another user: start the page as the user of the agent"
    if isinstance(error, FileNotFoundError | ConnectionRefusedError):
        return NOT_RUNNING
    return f"{LIVE}: {error.strerror or error}"
