"""Where a device stands in a task: the report that comes next, and whether it takes part."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from edge_agent.consent.admission import check_source, follow_stream
from edge_agent.learning.holding import Holding
from edge_agent.learning.rule import ReportRule
from edge_agent.learning.spending import Spender
from edge_agent.learning.stages import next_stage, restored_draft, same_records
from edge_agent.records import Record
from edge_agent.state.rows import Pin
from edge_agent.state.state import State
from edge_agent.watch.unknown import UnknownLabels
from fsir.privacy.plan import SCREENING, Stage
from fsir.task.task import Task

log = logging.getLogger("fsir.agent")


class Standing:
    """The part of one device in one task that it has accepted; what matters is in `state`."""

    def __init__(
        self,
        state: State,
        pin: Pin,
        task: Task,
        spender: Spender,
        holding: Holding,
        clock: Callable[[], float],
    ) -> None:
        self.task = task
        self.active = pin.active
        self.stopped = pin.stopped
        self.made = {row.stage for row in state.ledger(task.digest) if row.is_report}
        self.holding = holding
        self._state = state
        self._clock = clock
        self._rule = ReportRule(task, clock)
        self._spender = spender
        self._same = same_records(task)
        self._complaints = UnknownLabels(task)
        check_source(state, pin, self.made, spender.feed)
        follow_stream(state, task, self.made, spender.feed)
        progress = state.progress(task.name)
        self.position = progress.position
        self._dirty = False
        self._suspected = False
        self._told_late = False
        self.last_refused: Record | None = None
        self.draft = restored_draft(state, task, self._stage(), progress)
        waits = self._same and self.made == {SCREENING} and not self.stopped
        if waits and progress.learned is None and not state.kept_count(task.name):
            self.stop(
                "the records of the first report were forgotten, so that there can be no second one"
            )

    # --- the report that comes next ---------------------------------------------------------------

    def _stage(self) -> Stage | None:
        return None if self.stopped else next_stage(self.task, self.made, self.active)

    @property
    def wants_records(self) -> bool:
        """Whether the next record would be learned."""
        return self.draft.learner is not None and self._rule.wants(
            self.draft.n, self.active is not None
        )

    @property
    def ready(self) -> bool:
        """Whether the next report is due, and may be made."""
        if self.draft.learner is None or self.holding.why:
            return False
        return self._rule.is_due(self.draft.n, self.active is not None)

    @property
    def late(self) -> str:
        """Why there can be no report any more; empty if there can."""
        if self.draft.learner is None:
            return ""
        too_late = self._rule.is_too_late(self.draft.n, self.active is not None)
        return self._rule.too_late(self.draft.n) if too_late else ""

    def notice(self) -> None:
        """Look at what happens without a record: a deadline passes, an owner releases a report."""
        if self.holding.why:
            self.holding.look()
        if not self._told_late and (late := self.late):
            self._told_late = True
            log.warning("%s: too late: %s", self.task.name, late)

    # --- whether it takes part --------------------------------------------------------------------

    def stop(self, reason: str) -> None:
        """Take no further part."""
        self._state.stop(self.task.name, reason)
        self.stopped = reason
        self.draft = replace(self.draft, learner=None)
        log.error("%s: takes no further part: %s", self.task.name, reason)

    def go_on(self) -> None:
        """Take part again: what was learned and saved before is still there.

        Records that were passed by in between stay so.
        """
        self._state.stop(self.task.name, "")
        self.stopped = ""
        progress = self._state.progress(self.task.name)
        self.draft = restored_draft(self._state, self.task, self._stage(), progress)
        log.warning("%s: let in again by the aggregator's operator", self.task.name)
