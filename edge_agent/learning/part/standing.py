"""Where a device stands in a task: the report that comes next, and whether it takes part."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import replace

from edge_agent.consent.admission import check_source, follow_stream
from edge_agent.learning.holding import Holding
from edge_agent.learning.rounds import Turn, ended, next_turn
from edge_agent.learning.rule import ReportRule
from edge_agent.learning.spending import Spender
from edge_agent.learning.stages import next_stage, restored_draft, same_records
from edge_agent.records import Record
from edge_agent.state.made import last_reports
from edge_agent.state.rows import OutboxRow, Pin, Progress
from edge_agent.state.state import State
from edge_agent.watch.unknown import UnknownLabels
from fsir.privacy.plan import FINAL, SCREENING, Stage
from fsir.task.task import Task

log = logging.getLogger("fsir.agent")
NO_KEY = (
    "the key that the noise of its rounds is made from is not in this state directory: a next "
    "round would need the noise of those before, and new noise over them would tell more than the "
    "task has promised. If the directory was restored, bring the original back; what was reported "
    "stays in the federation"
)


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
        self.made = last_reports(state.ledger(task.digest), task.digest)
        self.holding = holding
        self._state = state
        self._clock = clock
        self._rule = ReportRule(task, clock)
        self._spender = spender
        self._same = same_records(task)
        self._complaints = UnknownLabels(task)
        check_source(state, pin, task, self.made, spender.feed)
        follow_stream(state, task, self.made, spender.feed)
        progress = state.progress(task.name)
        self.position = progress.position
        self._dirty = False
        self._in_doubt = False  # whether the disk may have a report although it said no
        self.adopted: list[OutboxRow] = []  # such reports, until somebody sends them
        self._suspected = False
        self._told_late = False
        self.last_refused: Record | None = None
        self.draft = restored_draft(state, task, self._stage(), progress)
        if not self.stopped and (lost := self._lost(progress)):
            self.stop(lost)

    def _lost(self, progress: Progress) -> str:
        """Why there can be no next report, for want of what the ones before have left here."""
        waits = self._same and set(self.made) == {SCREENING}
        if waits and progress.learned is None and not self._state.kept_count(self.task.name):
            return (
                "the records of the first report were forgotten, so that there can be no second one"
            )
        going_on = not self.done and self.task.correlates_noise
        if going_on and self._lacks_key(self._state.keys.of(self.task.digest)):
            return NO_KEY
        return ""

    def _lacks_key(self, key: bytes) -> bool:
        """Whether this is not the key of all rounds so far."""
        from fsir.privacy.rounds.correlated import KEY_BYTES

        last = self.made.get(FINAL)
        return last is not None and len(key) < KEY_BYTES * last.round

    # --- the report that comes next ---------------------------------------------------------------

    def _stage(self) -> Stage | None:
        return None if self.stopped else next_stage(self.task, self.made, self.active)

    @property
    def done(self) -> bool:
        """Whether all reports are made, or the time of those that are missing has passed."""
        return FINAL in self.made and self._turn() is None

    @property
    def wants_records(self) -> bool:
        """Whether the next record would be learned."""
        if self.draft.learner is None or self._turn() is None:
            return False
        return self._rule.wants(self.draft.n, self.active is not None)

    @property
    def room(self) -> int:
        """How many records the next report still lacks."""
        return self._rule.size - self.draft.n

    @property
    def full(self) -> bool:
        """Whether all records of the next report are there."""
        if self.draft.learner is None:
            return False
        return self._rule.is_due(self.draft.n, self.active is not None)

    def awaited_time(self, unanswered: bool) -> float | None:
        """The time of day at which a report becomes due that has its records.

        `unanswered`: whether the round before waits for its receipt.
        """
        if not self.draft.n:
            return None
        if self.task.report.deadline is not None:
            return self.task.report.deadline
        return None if unanswered else self.opens

    @property
    def opens(self) -> float | None:
        """The time of day from which on the next report may be made, if its records are there.

        None if there is nothing that could be made.
        """
        turn = self._turn()
        learner = self.draft.learner
        if turn is None or learner is None or self.holding.why or not self.full:
            return None
        return -math.inf if learner.stage.name == SCREENING else turn.opens

    def _turn(self) -> Turn | None:
        return next_turn(self.task, self.made, self._clock())

    @property
    def ready(self) -> bool:
        """Whether the next report is due, and may be made."""
        opens = self.opens
        return opens is not None and self._clock() >= opens

    @property
    def between_rounds(self) -> bool:
        """Whether a round is due, and the records behind it are for the next one."""
        turn = self._turn()
        return turn is not None and turn.round < self.task.rounds and self.ready

    @property
    def late(self) -> str:
        """Why there can be no report any more; empty if there can."""
        if self.draft.learner is None:
            return ""
        if self._turn() is None:
            return "" if self.done else ended(self.task)
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
