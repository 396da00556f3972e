"""What `termux-sensor` prints: JSON objects over several lines each, and now and then a sentence.

    {
      "lsm6dso LSM6DSO Accelerometer Non-wakeup": {
        "values": [
          0.1436,
          ...
        ]
      }
    }

The first ones may be `{}`. An object begins and ends with a line that is not indented, so that
whatever stands between two of them, or breaks one off, costs no more than that one.
"""

from __future__ import annotations

import json
from typing import Any

LONGEST_BYTES = 65_536  # of an object: two sensors take 300


class Objects:
    """Takes pieces of the output as they come; gives the objects that they complete.

    What is no object is in `texts`, a line each, for whoever empties it.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._line = b""  # whose end has not come yet
        self._open: list[bytes] = []  # lines of the object that has begun
        self._size = 0

    def feed(self, chunk: bytes) -> list[dict[str, Any]]:
        """The objects that are complete now."""
        *lines, self._line = (self._line + chunk).split(b"\n")
        if len(self._line) > LONGEST_BYTES:
            self._line = b""
            self._drop()
        return [found for line in lines if (found := self._take(line.rstrip())) is not None]

    def _take(self, line: bytes) -> dict[str, Any] | None:
        begins = line.startswith(b"{")
        inside = bool(self._open) and (line[:1] in (b" ", b"\t", b"}", b""))
        if self._open and not inside:
            self._drop()
        if not begins and not inside:
            self._tell(line)
            return None
        self._open.append(line)
        self._size += len(line)
        if self._size > LONGEST_BYTES:
            self._drop()
        elif line.endswith(b"}") and not line[:1].isspace():
            return self._close()
        return None

    def _close(self) -> dict[str, Any] | None:
        text = b"\n".join(self._open)
        self._open = []
        self._size = 0
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            self._tell(text)
            return None
        return found if isinstance(found, dict) else None

    def _drop(self) -> None:
        """What was begun will not be completed."""
        self._tell(b"\n".join(self._open))
        self._open = []
        self._size = 0

    def _tell(self, text: bytes) -> None:
        if text.strip():
            self.texts.append(text[:80].decode("utf-8", "replace"))
