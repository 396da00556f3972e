"""When a report is due: after so many records, or at a deadline.

The rule looks at public numbers and the number of records only.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from fsir.privacy.plan import minimum_size, report_size
from fsir.task.task import Task


class ReportRule:
    """The rule of one task; `second` tells whether it is asked about the report after screening."""

    def __init__(self, task: Task, clock: Callable[[], float]) -> None:
        self.size = report_size(task)
        self._minimum = minimum_size(task)
        self._deadline = task.report.deadline
        self._fresh = task.asks_for_fresh_records
        self._clock = clock

    def wants(self, n: int, second: bool) -> bool:
        """Whether one more record than `n` would be learned."""
        return n < self.size and not self._late(second)

    def is_due(self, n: int, second: bool) -> bool:
        """Whether a report about `n` records is due."""
        if self._ends_by_deadline(second):
            return self._late(second) and n >= self._minimum
        return n >= self.size

    def is_too_late(self, n: int, second: bool) -> bool:
        """Whether there can be no report any more: the deadline came before the fewest records."""
        return self._late(second) and n < self._minimum

    def too_late(self, n: int) -> str:
        """The same in words."""
        deadline = datetime.fromtimestamp(self._deadline or 0, UTC).strftime("%Y-%m-%d %H:%M UTC")
        return (
            f"its deadline was {deadline}, and this device has {n} of the at least "
            f"{self._minimum} records: there will be no report of it"
        )

    def _late(self, second: bool) -> bool:
        return self._ends_by_deadline(second) and self._clock() >= (self._deadline or 0)

    def _ends_by_deadline(self, second: bool) -> bool:
        """Whether the clock decides; a second report about fresh records counts them instead."""
        return self._deadline is not None and not (self._fresh and second)
