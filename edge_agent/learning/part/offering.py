"""Records that are offered to a task: learned or refused, and committed with their position."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from edge_agent.errors import StateError
from edge_agent.labels.timeline import NO_LABEL
from edge_agent.learning.learner import Learner
from edge_agent.learning.looks import suspicions
from edge_agent.learning.part.standing import Standing
from edge_agent.learning.stages import restored_draft
from edge_agent.records import Position, Record
from edge_agent.state.made import last_reports
from edge_agent.state.rows import LedgerRow, Progress
from edge_agent.watch.refusals import NO_LABEL_YET, Refusal, refusal
from fsir.arrays import Matrix

if TYPE_CHECKING:
    from numpy.typing import NDArray

log = logging.getLogger("fsir.agent")


class Offering(Standing):
    """A device's part in a task, as far as records are concerned."""

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

    def learn_sound(self, records: Sequence[Record]) -> bool:
        """Offer records together, if all are wanted and plainly sound; false: none was looked at.

        The same as `learn` on each.
        """
        learner = self.draft.learner
        if learner is None or not records or not self.wants_records:
            return False
        if len(records) > self.room or not self._can_be_learned(records):
            return False
        ys = [self._response(record) for record in records]
        if not learner.learn_sound([record.x for record in records], ys):
            return False
        self.position = records[-1].position
        self._dirty = True
        self.draft.extend(records[0].position.ordinal, self.position.ordinal)
        return True

    def _can_be_learned(self, records: Sequence[Record]) -> bool:
        """Whether each stands behind the one before, could be read, and may have a label."""
        last = self.position.ordinal
        for record in records:
            if record.position.ordinal <= last or record.fault or _lacks_label(record):
                return False
            last = record.position.ordinal
        return True

    def _response(self, record: Record) -> Any:
        return record.x.get(self.task.response.name) if record.y is None else record.y

    def _take(self, record: Record, learner: Learner) -> None:
        if record.fault:
            learner.refuse(record.fault)
        elif _lacks_label(record):
            learner.refuse(NO_LABEL_YET)
        else:
            y = self._response(record)
            if learner.learn_one(record.x, y):
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

    # --- what the disk has ------------------------------------------------------------------------

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
            return self._state.progress(self.task.name)._replace(position=self.position)
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
    # there: rows that were stored must not be stored again, an active set that was pinned is the
    # one, and so is a report that was made: what it is about must not be learned for the next one.

    def _follow_disk(self) -> None:
        if self._in_doubt:
            self._adopt()
        if self.task.screening is None or self.active is not None:
            return
        pin = self._state.pinned(self.task.name)
        if pin is not None and pin.active is not None:
            progress = self._state.progress(self.task.name)
            self.active = pin.active
            self.draft = restored_draft(self._state, self.task, self._stage(), progress)

    def _adopt(self) -> None:
        made = last_reports(self._state.ledger(self.task.digest), self.task.digest)
        progress = self._state.progress(self.task.name)
        waiting = self._state.outbox(self.task.name)
        self._in_doubt = False
        for row in made.values():
            if row.stage in self.made and self.made[row.stage].round == row.round:
                continue
            self._go_on_after(row, progress)
            self.adopted = [out for out in waiting if out.report == row.report]
            if not self.adopted and row.verdict == "refused":
                self.stop(row.reason)

    def _go_on_after(self, row: LedgerRow, progress: Progress) -> None:
        """A report is made: its records are no longer what the next one is about."""
        self.made[row.stage] = row
        self._dirty = False
        self._suspected = False
        self.holding.settled()
        self.draft = restored_draft(self._state, self.task, self._stage(), progress)

    def _count_stored(self) -> None:
        if self.draft.learner is not None:
            self.draft.learner.note_stored(lambda: self._state.kept_count(self.task.name))


def _lacks_label(record: Record) -> bool:
    """Whether nobody has said what was done then."""
    return isinstance(record.y, str) and record.y == NO_LABEL
