"""Whether this process goes on growing while hostile messages come in."""

from __future__ import annotations

import os
from pathlib import Path

MOST_GROWTH_BYTES = 64 * 2**20


class MemoryGrowth:
    """Measures from a tenth of the way on: what is kept once has been kept by then."""

    def __init__(self, count: int) -> None:
        self._start = count // 10
        self._held_bytes = 0

    def at(self, number: int) -> None:
        """So many messages have come."""
        if not self._held_bytes and number >= self._start:
            self._held_bytes = resident_bytes()

    def check(self) -> None:
        """Fail if more was kept since than any cache may hold."""
        assert resident_bytes() - self._held_bytes < MOST_GROWTH_BYTES


def resident_bytes() -> int:
    """Bytes that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
