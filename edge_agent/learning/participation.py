"""A device's part in one task: what it learns, and the one report per stage that it makes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from edge_agent.consent.admission import check_source, follow_stream
from edge_agent.errors import StateError
from edge_agent.labels.timeline import NO_LABEL
from edge_agent.learning.draft import Draft
from edge_agent.learning.holding import Holding
from edge_agent.learning.learner import Learner
from edge_agent.learning.looks import suspicions
from edge_agent.learning.rule import ReportRule
from edge_agent.learning.spending import NoReportError, Spender
from edge_agent.learning.stages import next_stage, restored_draft, same_records, second_draft
from edge_agent.records import Position, Record
from edge_agent.state.rows import LedgerRow, OutboxRow, Pin, Progress
from edge_agent.state.state import State
from edge_agent.watch.refusals import NO_LABEL_YET, Refusal, refusal
from edge_agent.watch.unknown import UnknownLabels
from fsir.arrays import Matrix
from fsir.privacy.plan import SCREENING, Stage
from fsir.task.task import Task

log = logging.getLogger("fsir.agent")


class Participation:
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

    # --- records ----------------------------------------------------------------------------------

    def learn(self, record: Record) -> bool:
        """Offer one record; true if it was looked at."""
        if record.position.ordinal <= self.position.ordinal:
            return False  # a source that serves several tasks starts where the slowest one is
        wanted = self.wants_records
        self.position = record.position
        learner = self.draft.learner
        if not wanted or learner is None:
            return False  # passed by: nothing that would be worth a write
        self._dirty = True
        before = learner.n
        self._take(record, learner)
        if learner.n > before:
            self.draft.extend(record.position.ordinal, record.position.ordinal)
        return True

    def _take(self, record: Record, learner: Learner) -> None:
        if record.fault:
            learner.refuse(record.fault)
        elif isinstance(record.y, str) and record.y == NO_LABEL:
            learner.refuse(NO_LABEL_YET)
        else:
            y = record.x.get(self.task.response.name) if record.y is None else record.y
            x = {name: record.x[name] for name in learner.names if name in record.x}
            if learner.learn_one(x, y):
                return
            self._complaints.look_at(y)
        self.last_refused = record

    def why_refused(self) -> Refusal | None:
        """Why the last record was refused that was, of those that were offered one by one."""
        if self.last_refused is None or self.draft.learner is None:
            return None
        return refusal(self.task, self.draft.learner.names, self.last_refused)

    def learn_many(self, rows: Matrix, y: Sequence[Any] | NDArray[Any], first: int | None) -> int:
        """Offer rows over all features of the task; returns how many were used up."""
        start = self.position.ordinal + 1 if first is None else first
        if start <= self.position.ordinal:
            raise StateError(
                f"record {start} was seen before: the last one was {self.position.ordinal}"
            )
        used = 0
        learner = self.draft.learner
        while used < len(rows) and self.wants_records and learner is not None:
            take = min(self._rule.size - learner.n, len(rows) - used)
            learner.learn_many(rows[used : used + take], y[used : used + take])
            used += take
        if used:
            self.draft.extend(start, start + used - 1)
            self.position = Position(start + used - 1)
            self._dirty = True
        return used

    def checkpoint(self, leaving: bool = False) -> None:
        """Commit what was learned together with the position.

        Who leaves also notes where it only passed by.
        """
        if self._dirty or leaving:
            self._follow_disk()
            self._count_stored()
            progress = self._progress()
            learner = self.draft.learner
            kept = () if learner is None else learner.take_kept()
            self._state.save(self.task.name, progress, kept)
            self._count_stored()
            self._dirty = False
            self._suspect()

    def _progress(self) -> Progress:
        """What the state file is to have.

        A device that was stopped may be let in again: what it had learned stays, and so does a hold
        on it, which only the owner may lift.
        """
        if self.stopped:
            return replace(self._state.progress(self.task.name), position=self.position)
        return self.draft.progress(self.position)

    def _suspect(self) -> None:
        """Say, once, what is plainly wrong with the records: there is time to mend it."""
        if self._suspected or self.holding.why:
            return
        for fault in suspicions(self.task, self.draft.learner):
            self._suspected = True
            log.warning(
                "%s: look at your records before the report is due (%d of %d): %s",
                *(self.task.name, self.draft.n, self._rule.size, fault.text),
            )

    # A disk may deny a commit that has happened. So before anything is written, look at what is
    # there: rows that were stored must not be stored again, and an active set that was pinned is
    # the one.

    def _follow_disk(self) -> None:
        if self.task.screening is None or self.active is not None:
            return
        pin = self._state.pinned(self.task.name)
        if pin is not None and pin.active is not None:
            progress = self._state.progress(self.task.name)
            self.active = pin.active
            self.draft = restored_draft(self._state, self.task, self._stage(), progress)

    def _count_stored(self) -> None:
        if self.draft.learner is not None:
            self.draft.learner.note_stored(lambda: self._state.kept_count(self.task.name))

    # --- the active set ---------------------------------------------------------------------------

    def take_active(self, features: tuple[str, ...]) -> None:
        """Pin the first active set.

        Rows kept so far become moments of its features; other features are not needed.
        """
        self._follow_disk()
        if self.active is not None:
            if features != self.active:
                log.warning(
                    "%s: another active set was published; the first one stays", self.task.name
                )
            return
        self.checkpoint()
        self.active = features
        try:
            draft = second_draft(self._state, self.task, self._stage(), self.draft)
            self._state.pin_active(self.task.name, features, draft.progress(self.position))
        except BaseException:
            self.active = None  # it will be offered again
            raise
        self.draft = draft
        log.info("%s: the active set has %d features", self.task.name, len(features))

    # --- reports ----------------------------------------------------------------------------------

    def report(self) -> OutboxRow | None:
        """Make the report that is due: spend, and only then return what may be sent.

        None if the cap forbids it, or if it is held.
        """
        self._follow_disk()
        learner = self.draft.learner
        if learner is None or not self.ready:
            return None
        now = self._clock()
        if learner.keeps_rows:
            self.checkpoint()
        moments = learner.moments(self._state.kept(self.task.name, self.task.p))
        if moments.n != learner.n or moments.n > self._rule.size:
            self.stop(
                f"its state has {moments.n} records for a report about {learner.n} "
                f"of {self._rule.size}"
            )
            return None
        stage = moments.stage
        ledger = self._state.ledger()
        if any(row.digest == self.task.digest and row.stage == stage.name for row in ledger):
            return self._adopt(stage)
        judged = None
        if not (self._same and SCREENING in self.made):  # whose records have been judged
            judged = self.holding.judge(self.draft, self.position, ledger, now)
        if self.holding.why:
            return None
        try:
            row, out = self._spender.spend(moments, self.draft.interval(), ledger, now)
        except NoReportError as error:
            self.stop(str(error))
            return None
        self._record(row, out, judged)
        if out is None:
            self.stop(row.reason)
        return out

    def _record(self, row: LedgerRow, out: OutboxRow | None, judged: LedgerRow | None) -> None:
        # The second report about the same records needs them, and their interval.
        keep = self._same and row.stage == SCREENING
        draft = replace(self.draft, learner=None) if keep else Draft()
        self._state.record_report(
            row,
            out,
            draft.progress(self.position),
            drop_kept=not keep,
            judged=judged,
            refused=self.draft.refused,
        )
        self._dirty = False
        self.holding.settled()
        self.made.add(row.stage)
        self.draft = draft
        log.info(
            "%s: %s report made from %d records, mu = %.4g", row.task, row.stage, row.n, row.mu
        )

    def _adopt(self, stage: Stage) -> OutboxRow | None:
        """The disk has a report whose commit it denied: it is the one and only."""
        self.made.add(stage.name)
        self.draft = replace(self.draft, learner=None)
        rows = self._state.outbox(self.task.name)
        return next((row for row in rows if row.stage == stage.name), None)

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
