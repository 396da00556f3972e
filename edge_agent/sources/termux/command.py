"""One run of `termux-sensor`, in a process group of its own.

The command is a script that waits for a helper, which waits for the app Termux:API: a signal to the
script alone would be heard when the helper ends, and that may never be.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
from contextlib import suppress

PROGRAM = "termux-sensor"
CLEANUP_SECONDS = 3.0  # for each of the steps that let go of the sensors
_CHUNK_BYTES = 65_536


class Command:
    """A running command; its words and its complaints come through one pipe."""

    def __init__(self, *words: str) -> None:
        self._process = subprocess.Popen(
            [PROGRAM, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        self._output = self._process.stdout

    def read(self, seconds: float) -> bytes | None:
        """What has been said, waited for so long; empty at the end, None if nothing came."""
        ready, _, _ = select.select([self._output], [], [], max(0.0, seconds))
        return os.read(self._output.fileno(), _CHUNK_BYTES) if ready else None

    def stop(self) -> None:
        """End it, by force if need be, and let go of the sensors."""
        self._signal(signal.SIGTERM)
        self.wait()
        clean_up()

    def wait(self) -> None:
        """Until it has ended, but not for long."""
        try:
            self._process.wait(CLEANUP_SECONDS)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self._process.wait()
        self._output.close()

    def _signal(self, which: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, which)


def clean_up() -> None:
    """Let the app forget whoever was listening: while it knows one, nobody else hears anything."""
    with suppress(OSError):
        Command("-c").wait()
