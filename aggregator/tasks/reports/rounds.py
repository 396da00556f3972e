"""What somebody has said about rounds: reports that follow each other on the same device."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fsir.errors import FsirError
from fsir.proposal.constants import Expectation
from fsir.proposal.rounds import over_rounds
from fsir.task.task import CORRELATED, MEMORIES, Estimate

_SPANS = ("window", "decay")
COMMENTS = {
    "report.rounds": "reports of a device, each about its next records: a record is in one of "
    "them, and costs what one costs; what somebody does every time is told by all of them",
    "report.every": "seconds from one report of a device to its next at least",
    "report.start": "of the first stretch of so many seconds; a report has the number of its own",
    "privacy.noise": 'later rounds take back noise of earlier ones; "independent": they do not',
    "estimate.memory": 'as many of the last rounds as noise and drift allow; or "all", or a '
    '"window" of span rounds, or a "decay" to a half over span rounds',
}


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """How many rounds there are, when, and how long they are remembered."""

    count: int = 1
    every: float | None = None
    start: datetime | None = None
    noise: str | None = None
    memory: str | None = None
    span: int | None = None

    def sections(self) -> dict[str, dict[str, Any]]:
        """The fields of a task that say so, by section; a single round says nothing."""
        several = None if self.count == 1 else self.count
        said: dict[str, dict[str, Any]] = {
            "report": {"rounds": several, "every": self.every, "start": self.start},
            "privacy": {"noise": self.noise},
            "estimate": {"memory": self.memory, "span": self.span},
        }
        return {
            section: {key: value for key, value in fields.items() if value is not None}
            for section, fields in said.items()
        }

    def expected(self, of_one: Expectation) -> Expectation:
        """What all rounds are worth, where that is expected of one."""
        memory = Estimate(memory=self.memory or "auto", span=self.span)
        independent = self.noise is not None and self.noise != CORRELATED
        return over_rounds(of_one, self.count, memory, independent=independent)


def memory_in(text: str) -> tuple[str, int | None]:
    """A memory, and how many rounds it spans.

    >>> memory_in("all"), memory_in("window=8")
    (('all', None), ('window', 8))
    """
    memory, equals, span = text.partition("=")
    spans = memory in _SPANS
    if memory not in MEMORIES or spans != (equals == "=" and span.isdecimal()):
        raise FsirError(
            f"--memory {text}: say auto, all, or for how many rounds: window=8, decay=8"
        )
    return memory, int(span) if spans else None
