"""Served records as JSON lines in a text file, or on standard output."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any, TextIO

from edge_agent.output.base import Output

log = logging.getLogger("fsir.output")


class Lines(Output):
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
