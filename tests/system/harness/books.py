"""The books of a federation after all has come to rest: they balance to the last record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aggregator.federation import Federation as Layouts
from aggregator.results.gathering import gather
from aggregator.rounds.recount import agrees
from aggregator.store.sqlite import SqliteStore
from edge_agent.learning.report import report_bytes
from edge_agent.state.rows import LedgerRow
from edge_agent.state.state import State
from fsir.privacy.noise import SystemNoise
from fsir.privacy.plan import FINAL
from fsir.wire.decode import decode
from fsir.wire.messages import Active, report_id
from tests.system.harness.one_hot import Federation

ACCEPTED = ("counted", "duplicate")


@dataclass(frozen=True, kw_only=True)
class Account:
    """One device in one task: where its state is, and what was seen of it on the wire."""

    number: int
    name: str
    state: Path
    sent: dict[str, set[bytes]]  # payloads, by stage
    withdrawn: bool = False
    # By a receipt for what it has not sent: what it has sent counts or does not, all else holds.
    stopped: bool = False
    refuses: bool = False  # the task, and so it has nothing to do with it


def counted(path: Path) -> int:
    """Reports in a store."""
    store = SqliteStore(path, create=False)
    try:
        return sum(1 for task in store.tasks() for _ in store.reports(task.key))
    finally:
        store.close()


def audit(
    federation: Federation, path: Path, accounts: list[Account], *, replayable: bool = True
) -> list[str]:
    """Nothing is lost or doubled, devices report once a stage, and ledgers say what was sent.

    Returns what is not so, in words.
    """
    store = SqliteStore(path, create=False)
    try:
        return _Books(federation, store, replayable).audit(accounts)
    finally:
        store.close()


class _Books:
    def __init__(self, federation: Federation, store: SqliteStore, replayable: bool) -> None:
        self._federation = federation
        self._store = store
        self._replayable = replayable
        self._layouts = Layouts(federation.task())
        (self._layouts.key,) = (row.key for row in store.tasks() if row.name == federation.name)
        reports = {(row.device, row.stage): row for row in store.reports(self._layouts.key)}
        self._raws = {place: row.raw for place, row in reports.items()}
        self._counted = {place: row.id for place, row in reports.items()}
        self._wrong: list[str] = []

    def audit(self, accounts: list[Account]) -> list[str]:
        self._pin()
        values: dict[str, list[np.ndarray]] = {stage: [] for stage in self._layouts.layouts}
        for account in accounts:
            ledger = self._ledger(account)
            self._compare(account, ledger)
            for row in ledger:
                self._interval(account, row)
                if self._counts(account, row):
                    values[row.stage].append(self._values(account, row))
        sent = {(account.name, stage) for account in accounts for stage in account.sent}
        if strangers := set(self._counted) - sent:
            self._wrong.append(f"counted, but nobody sent it: {sorted(strangers)}")
        for stage, rows in values.items():
            self._merged(stage, np.array(rows))
        return [f"{self._federation.name}: {line}" for line in self._wrong]

    def _counts(self, account: Account, row: LedgerRow) -> bool:
        """Whether the report behind a ledger row is part of the totals."""
        place = (account.name, row.stage)
        if not account.withdrawn:
            return place in self._counted or not account.stopped
        if self._raws.get(place) is not None:
            self._wrong.append(
                f"{account.name} was withdrawn, and its {row.stage} report is still there"
            )
        return False

    def _pin(self) -> None:
        if (active := self._store.published(self._layouts.key, "active")) is not None:
            self._layouts.pin(active.body)
            features = decode(active.body, Active).features
            if list(features) != self._federation.task_names:
                self._wrong.append(
                    f"only {len(features)} of {self._federation.p} features are active"
                )

    def _ledger(self, account: Account) -> list[LedgerRow]:
        state = State(account.state, None, read_only=True)
        try:
            if state.outbox(self._federation.name):
                self._wrong.append(f"{account.name} still has a report without a receipt")
            return [row for row in state.ledger() if row.task == self._federation.name]
        finally:
            state.close()

    def _compare(self, account: Account, ledger: list[LedgerRow]) -> None:
        """Ledger, wire and store tell the same story."""
        stages = [row.stage for row in ledger]
        story = f"has sent {sorted(account.sent)} and entered {stages}"
        if account.refuses:
            if stages or account.sent:
                self._wrong.append(f"{account.name} refuses the task, and {story}")
            return
        missing = not account.stopped and (FINAL not in stages or set(stages) != set(account.sent))
        if missing or len(set(stages)) != len(stages) or not set(stages) >= set(account.sent):
            self._wrong.append(f"{account.name} {story} in its ledger")
        for row in ledger:
            self._wrong += self._contradictions(account, row)

    def _contradictions(self, account: Account, row: LedgerRow) -> Iterator[str]:
        """Where the report behind a ledger row is another on the wire or in the store."""
        name = account.name
        sent = account.sent.get(row.stage, set())
        counted = self._counted.get((name, row.stage))
        if len(sent) > 1 or (not sent and not account.stopped):
            yield f"{name} has sent {len(sent)} different {row.stage} reports"
        if not {report_id(raw) for raw in sent} <= {row.report}:
            yield f"{name} has sent another {row.stage} report than its ledger says"
        may_be_missing = account.stopped or account.withdrawn
        if counted != row.report and (counted is not None or not may_be_missing):
            yield f"{name}: its {row.stage} report was not counted"
        if counted is None and row.verdict in ACCEPTED:
            yield f"{name}: its {row.stage} report is gone, and it was told: {row.verdict}"
        if row.verdict not in ACCEPTED and not _excused(account, row):
            yield f"{name}: {row.stage} {row.verdict}: {row.reason}"

    def _interval(self, account: Account, row: LedgerRow) -> None:
        """A report is about as many records as the task says, and about those in the ledger."""
        covered = row.last - row.first + 1
        fits = covered == row.n or (not self._replayable and covered > row.n)
        if row.n != self._federation.records or not fits:
            self._wrong.append(
                f"{account.name}: a {row.stage} report about {row.n} records "
                f"from an interval of {covered}"
            )

    def _values(self, account: Account, row: LedgerRow) -> np.ndarray:
        """What the merged report should have of this device."""
        if self._federation.mechanism == "none" and self._replayable:
            moments = self._federation.moments(account.number, row)
            raw = report_bytes(self._layouts.task, account.name, moments, SystemNoise())
            return self._layouts.values(raw)
        # Noise, or records that a crash has lost: then what was sent must be counted.
        for raw in account.sent.get(row.stage, set()):
            return self._layouts.values(raw)
        return np.zeros(self._layouts.layouts[row.stage].width, np.int64)

    def _merged(self, stage: str, rows: np.ndarray) -> None:
        """The totals are the sum of these rows, and that of the stored reports."""
        totals = self._store.totals(self._layouts.key, stage)
        width = self._layouts.layouts[stage].width
        rows = rows.reshape(-1, width)
        merged = np.frombuffer(totals.values, "<i8") if totals.values else np.zeros(width, np.int64)
        self._wrong += self._federation.explain(stage, merged, rows.sum(axis=0))
        if totals.devices != len(rows):
            self._wrong.append(f"{stage}: {totals.devices} devices, not {len(rows)}")
        if not agrees(self._store, self._layouts, stage):  # what `status --recount` tells
            self._wrong.append(f"{stage}: the totals are not those of the stored reports")
        if self._federation.trimmed and len(rows):
            self._trimmed(stage, rows)

    def _trimmed(self, stage: str, rows: np.ndarray) -> None:
        """What is trimmed leaves out its ends."""
        cut = len(rows) // 4
        middle = np.sort(rows, axis=0)[cut : len(rows) - cut].sum(axis=0)
        merged = np.concatenate(gather(self._store, self._layouts, stage).blocks)
        self._wrong += self._federation.explain(stage, merged, middle)


def _excused(account: Account, row: LedgerRow) -> bool:
    """Whether a report of this device may have been refused, and for this reason."""
    withdrawn = account.withdrawn and row.reason.startswith("withdrawn")
    return row.verdict == "refused" and (
        withdrawn or (account.stopped and "another report" in row.reason)
    )
