"""A device's part in one task: what it learns, and the one report per stage that it makes."""

from __future__ import annotations

import logging
from dataclasses import replace

from edge_agent.learning.draft import Draft
from edge_agent.learning.part.offering import Offering
from edge_agent.learning.spending import NoReportError
from edge_agent.learning.stages import second_draft
from edge_agent.state.rows import LedgerRow, OutboxRow
from fsir.privacy.plan import SCREENING, Stage

log = logging.getLogger("fsir.agent")


class Participation(Offering):
    """All of a device's part in a task: records in, reports out."""

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
