"""The report that comes next, in the making."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edge_agent.errors import StateError
from edge_agent.learning.learner import Learner
from edge_agent.records import Position
from edge_agent.state.rows import Progress


@dataclass
class Draft:
    """Who learns for the next report, and which records it is about so far.

    Between two reports about the same records there is nobody who learns; their interval stays.
    """

    learner: Learner | None = None
    first: int | None = None  # ordinals of the first and last record that count
    last: int | None = None

    @property
    def n(self) -> int:
        """Records that the report would be about."""
        return 0 if self.learner is None else self.learner.n

    @property
    def refused(self) -> Mapping[str, int]:
        """Records that were not accepted, by reason."""
        return {} if self.learner is None else self.learner.refused

    def extend(self, first: int, last: int) -> None:
        """It is about these records, too."""
        if self.first is None:
            self.first = first
        self.last = last

    def interval(self) -> tuple[int, int]:
        """The first and the last record that count."""
        if self.first is None or self.last is None:
            raise StateError(f"{self.n} records were learned, and nobody knows which")
        return self.first, self.last

    def progress(self, position: Position) -> Progress:
        """What the state file is to remember, at this position in the source."""
        learned = None if self.learner is None else self.learner.learned()
        return Progress(position=position, first=self.first, last=self.last, learned=learned)
