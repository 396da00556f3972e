"""What a source has lost, said in the log at 1, 2, 4, 8, ... of a kind.

So the owner sees it, and it is no flood.
As long as there are no more of a kind than is ordinary, it is said once.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping

log = logging.getLogger("fsir.source")


class Tally:
    """Counts by kind; a kind is a text that says what was lost and why."""

    def __init__(self, name: str, ordinary: Mapping[str, int] | None = None) -> None:
        self.name = name
        self.counts: Counter[str] = Counter()
        self._due: dict[str, int] = {}
        self._ordinary = ordinary or {}  # how many of a kind are nothing to worry about

    def add(self, kind: str, more: int = 1, where: str = "") -> None:
        """Count some more, and say so if it is time; `where` says which one."""
        if more <= 0:
            return
        count = self.counts[kind] = self.counts[kind] + more
        if count >= self._due.get(kind, 1):
            ordinary = self._ordinary.get(kind, 0)
            self._due[kind] = 1 << max(count, ordinary).bit_length()
            level = logging.INFO if count <= ordinary else logging.WARNING
            log.log(level, "%s: %d %s%s", self.name, count, kind, where and f" ({where})")
