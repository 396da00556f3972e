"""The books of a federation after everything has come to rest: they must balance to the last record."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aggregator.federation import Federation as Layouts
from aggregator.merging import agrees
from aggregator.results.gathering import gather
from aggregator.store.sqlite import SqliteStore
from edge_agent.learning.report import report_bytes
from edge_agent.state.rows import LedgerRow
from edge_agent.state.state import State
from fsir.privacy.noise import SystemNoise
from fsir.privacy.plan import FINAL
from fsir.wire.decode import decode
from fsir.wire.messages import Active, report_id
from tests.system.one_hot import Federation


@dataclass(frozen=True)
class Account:
    """One device in one task: where its state is, and what was seen of it on the wire (payloads, by stage)."""

    number: int
    name: str
    state: Path
    sent: dict[str, set[bytes]]
    withdrawn: bool = False
    stopped: bool = False  # by a receipt for what it has not sent: what it has sent counts or does not, all else holds
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
    """Nothing lost, nothing doubled, one report per device and stage, and ledgers say what was sent; else, what not."""
    store = SqliteStore(path, create=False)
    try:
        return _Books(federation, store, replayable).audit(accounts)
    finally:
        store.close()


class _Books:
    def __init__(self, federation: Federation, store: SqliteStore, replayable: bool) -> None:
        self._federation, self._store, self._replayable = federation, store, replayable
        self._layouts = Layouts(federation.task())
        (self._layouts.key,) = (row.key for row in store.tasks() if row.name == federation.name)
        self._found: list[str] = []

    def audit(self, accounts: list[Account]) -> list[str]:
        self._pin()
        raws = {(row.device, row.stage): row.raw for row in self._store.reports(self._layouts.key)}
        known = {(row.device, row.stage): row.id for row in self._store.reports(self._layouts.key)}
        values: dict[str, list[np.ndarray]] = {stage: [] for stage in self._layouts.layouts}
        for account in accounts:
            ledger = self._ledger(account)
            self._compare(account, ledger, known)
            for entry in ledger:
                self._interval(account, entry)
                place = (account.name, entry.stage)
                if account.withdrawn and raws.get(place) is not None:
                    self._found.append(
                        f"{account.name} was withdrawn, and its {entry.stage} report is still there"
                    )
                if not account.withdrawn and (place in known or not account.stopped):
                    values[entry.stage].append(self._values(account, entry))
        if strangers := set(known) - {
            (account.name, stage) for account in accounts for stage in account.sent
        }:
            self._found.append(f"counted, but nobody sent it: {sorted(strangers)}")
        for stage, rows in values.items():
            self._merged(stage, np.array(rows))
        return [f"{self._federation.name}: {line}" for line in self._found]

    def _pin(self) -> None:
        if (active := self._store.published(self._layouts.key, "active")) is not None:
            self._layouts.pin(active.body)
            message = decode(active.body, Active)
            assert isinstance(message, Active)
            if list(message.features) != self._federation.task_names:
                self._found.append(
                    f"only {len(message.features)} of {self._federation.p} features are active"
                )

    def _ledger(self, account: Account) -> list[LedgerRow]:
        state = State(account.state, None, read_only=True)
        try:
            if state.outbox(self._federation.name):
                self._found.append(f"{account.name} still has a report without a receipt")
            return [row for row in state.ledger() if row.task == self._federation.name]
        finally:
            state.close()

    def _compare(
        self, account: Account, ledger: list[LedgerRow], known: dict[tuple[str, str], bytes]
    ) -> None:
        """Ledger, wire and store tell the same story."""
        name, stages, found = account.name, [row.stage for row in ledger], self._found
        if account.refuses:
            if stages or account.sent:
                found.append(
                    f"{name} refuses the task, and has sent {sorted(account.sent)} and entered {stages}"
                )
            return
        missing = not account.stopped and (FINAL not in stages or set(stages) != set(account.sent))
        if missing or len(set(stages)) != len(stages) or not set(stages) >= set(account.sent):
            found.append(
                f"{name} has sent {sorted(account.sent)} and entered {stages} in its ledger"
            )
        for row in ledger:
            sent, counts = account.sent.get(row.stage, set()), known.get((name, row.stage))
            if len(sent) > 1 or (not sent and not account.stopped):
                found.append(f"{name} has sent {len(sent)} different {row.stage} reports")
            if not {report_id(raw) for raw in sent} <= {row.report}:
                found.append(f"{name} has sent another {row.stage} report than its ledger says")
            if counts != row.report and (
                counts is not None or not (account.stopped or account.withdrawn)
            ):
                found.append(f"{name}: its {row.stage} report was not counted")
            if counts is None and row.verdict in ("counted", "duplicate"):
                found.append(
                    f"{name}: its {row.stage} report is gone, and it was told: {row.verdict}"
                )
            if row.verdict not in ("counted", "duplicate") and not _excused(account, row):
                found.append(f"{name}: {row.stage} {row.verdict}: {row.reason}")

    def _interval(self, account: Account, row: LedgerRow) -> None:
        """A report is about exactly as many records as the task says, and those are the ones that the ledger names."""
        covered = row.last - row.first + 1
        if row.n == self._federation.records and (
            covered == row.n or (not self._replayable and covered > row.n)
        ):
            return
        self._found.append(
            f"{account.name}: a {row.stage} report about {row.n} records from an interval of {covered}"
        )

    def _values(self, account: Account, row: LedgerRow) -> np.ndarray:
        """What the merged report should have of this device."""
        if self._federation.mechanism == "none" and self._replayable:
            moments = self._federation.moments(account.number, row)
            return self._layouts.values(
                report_bytes(self._layouts.task, account.name, moments, SystemNoise())
            )
        # Noise, or records that a crash has lost: then what was sent must be counted.
        for raw in account.sent.get(row.stage, set()):
            return self._layouts.values(raw)
        return np.zeros(self._layouts.layouts[row.stage].width, np.int64)

    def _merged(self, stage: str, rows: np.ndarray) -> None:
        """The totals are the sum of these rows and that of the stored reports; what is trimmed leaves out its ends."""
        store, layouts, found = self._store, self._layouts, self._found
        totals, width = store.totals(layouts.key, stage), layouts.layouts[stage].width
        rows = rows.reshape(-1, width)
        merged = np.frombuffer(totals.values, "<i8") if totals.values else np.zeros(width, np.int64)
        found += self._federation.explain(stage, merged, rows.sum(axis=0))
        if totals.devices != len(rows):
            found.append(f"{stage}: {totals.devices} devices, not {len(rows)}")
        if not agrees(store, layouts, stage):  # what `status --recount` tells
            found.append(f"{stage}: the totals are not those of the stored reports")
        if self._federation.trimmed and len(rows):
            cut = len(rows) // 4
            middle = np.sort(rows, axis=0)[cut : len(rows) - cut].sum(axis=0)
            found += self._federation.explain(
                stage, np.concatenate(gather(store, layouts, stage).blocks), middle
            )


def _excused(account: Account, row: LedgerRow) -> bool:
    """Whether a report of this device may have been refused, and for this reason."""
    withdrawn = account.withdrawn and row.reason.startswith("withdrawn")
    return row.verdict == "refused" and (
        withdrawn or (account.stopped and "another report" in row.reason)
    )
