"""The books of a federation after everything has come to rest: they must balance to the last record."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aggregator.counting import recount
from aggregator.federation import Federation as Layouts
from aggregator.sqlite import SqliteStore
from edge_agent.entries import LedgerRow
from edge_agent.state import State
from fsir.decode import decode
from fsir.messages import Report, report_id
from fsir.plan import FINAL
from tests.system.one_hot import Federation


@dataclass(frozen=True)
class Account:
    """One device: where its state is, and what was seen of it on the wire (different payloads, by stage)."""

    number: int
    name: str
    state: Path
    sent: dict[str, set[bytes]]


def counted(path: Path) -> int:
    """Reports in a store."""
    store = SqliteStore(path, create=False)
    try:
        return sum(1 for task in store.tasks() for _ in store.reports(task.key))
    finally:
        store.close()


def audit(federation: Federation, path: Path, accounts: list[Account], *, replayable: bool = True) -> list[str]:
    """Nothing lost, nothing doubled, one report per device and stage, and ledgers say what was sent; else, what not."""
    store, found = SqliteStore(path, create=False), []
    try:
        layouts = Layouts(federation.task())
        (row,) = store.tasks()
        layouts.key = row.key
        if (active := store.published(row.key, "active")) is not None:
            layouts.pin(active.body)
        expected: dict[str, np.ndarray] = {}
        known = {(report.device, report.stage): report.id for report in store.reports(row.key)}
        for account in accounts:
            ledger = _ledger(account, found)
            found += _compare(account, ledger, known)
            for entry in ledger:
                found += _interval(account, entry, federation, replayable)
                values = _values(account, entry, federation, replayable)
                expected[entry.stage] = expected.get(entry.stage, np.zeros_like(values)) + values
        if strangers := set(known) - {(account.name, stage) for account in accounts for stage in account.sent}:
            found.append(f"counted, but nobody sent it: {sorted(strangers)}")
        for stage, values in expected.items():
            totals, again = store.totals(row.key, stage), recount(store, layouts, stage)
            merged = np.frombuffer(totals.values, "<i8") if totals.values else np.zeros_like(values)
            found += federation.explain(federation.stage(stage), merged, values)
            if (again.devices, again.records, again.values) != (totals.devices, totals.records, totals.values):
                found.append(f"{stage}: the totals are not those of the stored reports")
        return found
    finally:
        store.close()


def _ledger(account: Account, found: list[str]) -> list[LedgerRow]:
    state = State(account.state, None, read_only=True)
    try:
        if state.outbox():
            found.append(f"{account.name} still has a report without a receipt")
        return state.ledger()
    finally:
        state.close()


def _compare(account: Account, ledger: list[LedgerRow], known: dict[tuple[str, str], bytes]) -> list[str]:
    """Ledger, wire and store tell the same story."""
    name, found, stages = account.name, [], [row.stage for row in ledger]
    if FINAL not in stages or len(set(stages)) != len(stages) or set(stages) != set(account.sent):
        found.append(f"{name} has sent {sorted(account.sent)} and entered {stages} in its ledger")
    for row in ledger:
        sent = account.sent.get(row.stage, set())
        if len(sent) != 1:
            found.append(f"{name} has sent {len(sent)} different {row.stage} reports")
        if {report_id(raw) for raw in sent} != {row.report}:
            found.append(f"{name} has sent another {row.stage} report than its ledger says")
        if known.get((name, row.stage)) != row.report:
            found.append(f"{name}: its {row.stage} report was not counted")
        if row.verdict not in ("counted", "duplicate"):
            found.append(f"{name}: {row.stage} {row.verdict}: {row.reason}")
    return found


def _interval(account: Account, row: LedgerRow, federation: Federation, replayable: bool) -> list[str]:
    """A report is about exactly as many records as the task says, and those are the ones that the ledger names."""
    covered = row.last - row.first + 1
    if row.n == federation.records and (covered == row.n or (not replayable and covered > row.n)):
        return []
    return [f"{account.name}: a {row.stage} report about {row.n} records from an interval of {covered}"]


def _values(account: Account, row: LedgerRow, federation: Federation, replayable: bool) -> np.ndarray:
    """What the merged report should have of this device."""
    if federation.mechanism == "none" and replayable:
        return federation.expected(account.number, row)
    # Noise, or records that a crash has lost: then what was sent must be counted.
    for raw in account.sent.get(row.stage, set()):
        report = decode(raw, "report")
        assert isinstance(report, Report)
        return np.concatenate(report.blocks)
    return np.zeros(sum(block.size for block in federation.stage(row.stage).blocks), np.int64)
