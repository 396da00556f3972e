"""A device's part in one task: what it learns, and the reports that it makes of it."""

from __future__ import annotations

import logging
from dataclasses import replace

from edge_agent.learning.draft import Draft
from edge_agent.learning.part.offering import Offering
from edge_agent.learning.part.standing import NO_KEY
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
        self._in_doubt = True  # there is no second report of a round, whoever has made the first
        self._follow_disk()
        learner = self.draft.learner
        if learner is None or not self.ready:
            return None
        now = self._clock()
        turn = self._turn()
        if turn is None:
            return None
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
        judged = None
        # Those of a second report about the same records have been judged.
        if not (self._same and set(self.made) == {SCREENING}):
            judged = self.holding.judge(self.draft, self.position, ledger, now)
        if self.holding.why:
            return None
        round = 1 if stage.name == SCREENING else turn.round
        key = self._key(stage, round)
        if key is None:
            self.stop(NO_KEY)
            return None
        try:
            row, out = self._spender.spend(
                moments,
                self.draft.interval(),
                ledger,
                now,
                round=round,
                key=key,
            )
        except NoReportError as error:
            self.stop(str(error))
            return None
        self._record(row, out, judged, key)
        if out is None:
            self.stop(row.reason)
        return out

    def _key(self, stage: Stage, round: int) -> bytes | None:
        """The key of the noise of rounds up to this one; None if that of earlier ones is lost.

        Empty where it is not needed.
        """
        if len(stage.factorisation.coefficients) == 1:
            return b""
        earlier = self._state.keys.of(self.task.digest)
        if self._lacks_key(earlier):
            return None
        from fsir.privacy.rounds.correlated import key_for

        return key_for(round, earlier)

    def _record(
        self, row: LedgerRow, out: OutboxRow | None, judged: LedgerRow | None, key: bytes
    ) -> None:
        # The second report about the same records needs them, and their interval.
        keep = self._same and row.stage == SCREENING
        draft = replace(self.draft, learner=None) if keep else Draft()
        progress = draft.progress(self.position)
        self._in_doubt = True
        self._state.record_report(
            row,
            out,
            progress,
            drop_kept=not keep,
            judged=judged,
            refused=self.draft.refused,
            key=key if row.round < self.task.rounds else b"",
        )
        self._in_doubt = False
        self._go_on_after(row, progress)
        log.info("%s: %s made from %d records, mu = %.4g", row.task, row.title, row.n, row.mu)
