"""The last gate before a device spends: its owner's cap, with the ledger as it is now."""

from __future__ import annotations

import random
from collections.abc import Sequence

from edge_agent.consent.admission import Feed, cost_of, groups_of
from edge_agent.consent.policy import Policy
from edge_agent.learning.stages import same_records
from edge_agent.state.made import last_reports
from edge_agent.state.rows import LedgerRow, OutboxRow
from fsir.errors import FsirError
from fsir.limits import LIMITS
from fsir.privacy.moments import Moments
from fsir.privacy.noise import Noise
from fsir.privacy.plan import SCREENING
from fsir.task.task import Task
from fsir.wire.messages import report_id


class NoReportError(FsirError):
    """A report that must not be made: the device takes no further part."""


class Spender:
    """Makes the reports of one device in one task. Each has its noise once: keep what comes out."""

    def __init__(
        self,
        task: Task,
        device: str,
        *,
        feed: Feed,
        policy: Policy,
        noise: Noise,
        rng: random.Random,
    ) -> None:
        self.feed = feed
        self._task = task
        self._device = device
        self._policy = policy
        self._noise = noise
        self._rng = rng

    def spend(
        self,
        moments: Moments,
        interval: tuple[int, int],
        ledger: Sequence[LedgerRow],
        now: float,
        *,
        round: int = 1,
        key: bytes = b"",
    ) -> tuple[LedgerRow, OutboxRow | None]:
        """The report about an interval of records, as the ledger and the outbox are to have it.

        One that is too long to be sent is for the ledger alone.
        """
        from edge_agent.learning.report import ledger_row, outbox_row, report_bytes

        row = ledger_row(
            self._task,
            moments,
            source=self._source(ledger),
            interval=interval,
            made=now,
            round=round,
        )
        spent = [cost_of(other) for other in ledger]
        groups = groups_of([*ledger, row], [(self._task, row.source)])
        over_budget = self._policy.over_budget([cost_of(row)], spent)
        if reasons := [*over_budget, *self._policy.over_group_budget(groups)]:
            raise NoReportError("; ".join(reasons))
        raw = report_bytes(self._task, self._device, moments, self._noise, round, key)
        row = row._replace(report=report_id(raw))
        if len(raw) > LIMITS["report"]:
            # That it does not leave is seen, and depends on its noisy numbers: it is paid for.
            reason = (
                f"its report takes {len(raw)} bytes, and aggregators read at most "
                f"{LIMITS['report']}"
            )
            return row._replace(verdict="refused", reason=reason), None
        hold = self._rng.uniform(0.0, self._task.report.max_delay)
        return row, outbox_row(row, self._device, raw, now + hold)

    def _source(self, ledger: Sequence[LedgerRow]) -> str:
        """The stream of the records; those of a first report may be of an earlier run."""
        made = last_reports(ledger, self._task.digest)
        if same_records(self._task) and set(made) == {SCREENING}:
            return made[SCREENING].source
        return self.feed.identity
