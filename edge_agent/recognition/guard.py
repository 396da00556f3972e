"""When the device's own classifier loses its say to the federation's, and when it gets it back.

The guard counts, as labels come, how many right answers the device has cost its owner: one for each
record on which it spoke and was wrong where the federation was right, less one for the opposite,
never below zero. At `ALLOWED` it is silenced. It speaks again once it would have been ahead of the
federation by `ALLOWED` right answers, after the second silence by twice, then four times as many.

So of the first n labelled records since recognition began (n at least `ALLOWED`), whatever the
labels are and in whatever order they come, what was said is right on at most

    ALLOWED * (1 + log2(n / ALLOWED))

fewer than the federation's answers. Proof: a time of speaking costs at most `ALLOWED`. The k-th
silence ends after at least `ALLOWED * 2^(k-1)` labelled records, and the first began after
`ALLOWED`; so k silences that ended need `ALLOWED * 2^k` records, and there are at most k + 1 times
of speaking. Where labels come late, each
time of speaking may cost as many more as there were records on their way when it ended.
"""

from __future__ import annotations

from collections.abc import Sequence

ALLOWED = 10  # labelled records


class Guard:
    """Who may speak, after what labels have shown."""

    def __init__(self, table: Sequence[int] = (0, 0, 0)) -> None:
        self._cost, self._lead, self._silences = table

    @property
    def open(self) -> bool:
        """Whether the device may speak."""
        return self._cost < ALLOWED

    def add(self, *, spoke: bool, device: bool, federation: bool) -> None:
        """A label has come: whether the device spoke, and who was right."""
        step = int(device) - int(federation)
        if not self.open:
            self._lead = max(0, self._lead + step)
            if self._lead >= ALLOWED * 2 ** (self._silences - 1):
                self._cost = 0
        elif spoke:
            self._cost = max(0, self._cost - step)
            if not self.open:
                self._silences += 1
                self._lead = 0

    def table(self) -> list[int]:
        """Plain values, for the state file."""
        return [self._cost, self._lead, self._silences]
