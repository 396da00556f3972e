"""The books of a federation after all has come to rest: they balance to the last record.

A report has its place, a stage and a round: a device has one there, or none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path

import numpy as np

from aggregator.federation import Federation as Layouts
from aggregator.results.gathering import gather
from aggregator.rounds.recount import agrees
from aggregator.rounds.sets import text_of
from aggregator.store.base import Store
from aggregator.store.opening import open_store
from edge_agent.learning.report import report_bytes
from edge_agent.state.rows import LedgerRow, report_title
from edge_agent.state.state import State
from fsir.privacy.noise import SystemNoise
from fsir.privacy.plan import FINAL
from fsir.wire.decode import decode
from fsir.wire.messages import Active, Report, report_id
from tests.system.harness.one_hot import Federation

ACCEPTED = ("counted", "duplicate")
Place = tuple[str, int]


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

    @cached_property
    def placed(self) -> dict[Place, set[bytes]]:
        """The payloads by stage and round."""
        placed: dict[Place, set[bytes]] = {}
        for raw in chain.from_iterable(self.sent.values()):
            placed.setdefault(place_of(raw), set()).add(raw)
        return placed


def place_of(raw: bytes) -> Place:
    """The stage and the round of a report."""
    report = decode(raw, Report)
    return report.stage, report.round


def _opened(store: Path | str) -> Store:
    """A store by its file or its address."""
    return open_store(store if isinstance(store, str) else f"sqlite:{store}", create=False)


def counted(place: Path | str) -> int:
    """Reports in a store."""
    store = _opened(place)
    try:
        return sum(1 for task in store.tasks() for _ in store.reports(task.key))
    finally:
        store.close()


def audit(
    federation: Federation, place: Path | str, accounts: list[Account], *, replayable: bool = True
) -> list[str]:
    """Nothing is lost or doubled, devices report once a place, and ledgers say what was sent.

    Returns what is not so, in words.
    """
    store = _opened(place)
    try:
        return _Books(federation, store, replayable).audit(accounts)
    finally:
        store.close()


class _Books:
    def __init__(self, federation: Federation, store: Store, replayable: bool) -> None:
        self._federation = federation
        self._store = store
        self._replayable = replayable
        self._layouts = Layouts(federation.task())
        (self._layouts.key,) = (row.key for row in store.tasks() if row.name == federation.name)
        reports = {
            (row.device, row.stage, row.round): row for row in store.reports(self._layouts.key)
        }
        self._raws = {place: row.raw for place, row in reports.items()}
        self._counted = {place: row.id for place, row in reports.items()}
        self._wrong: list[str] = []

    def audit(self, accounts: list[Account]) -> list[str]:
        self._pin()
        values: dict[Place, list[np.ndarray]] = {
            place: [] for place in self._federation.places if place[0] in self._layouts.layouts
        }
        patterns: Counter[str] = Counter()
        for account in accounts:
            ledger = self._ledger(account)
            self._compare(account, ledger)
            counted = [row for row in ledger if self._counts(account, row)]
            for row in ledger:
                self._interval(account, row)
            for row in counted:
                values[row.stage, row.round].append(self._values(account, row))
            patterns[text_of(row.round for row in counted if row.stage == FINAL)] += 1
        sent = {(account.name, *place) for account in accounts for place in account.placed}
        if strangers := set(self._counted) - sent:
            self._wrong.append(f"counted, but nobody sent it: {sorted(strangers)}")
        for (stage, round), rows in values.items():
            self._merged(stage, round, np.array(rows))
        self._recounted(patterns)
        return [f"{self._federation.name}: {line}" for line in self._wrong]

    def _counts(self, account: Account, row: LedgerRow) -> bool:
        """Whether the report behind a ledger row is part of the totals."""
        place = (account.name, row.stage, row.round)
        if not account.withdrawn:
            return place in self._counted or not account.stopped
        if self._raws.get(place) is not None:
            self._wrong.append(f"{account.name} was withdrawn, and its {row.title} is still there")
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
        places = [(row.stage, row.round) for row in ledger]
        sent = set(account.placed)
        story = f"has sent {sorted(sent)} and entered {places}"
        if account.refuses:
            if places or sent:
                self._wrong.append(f"{account.name} refuses the task, and {story}")
            return
        # Who comes after the active set has nothing to report before it.
        due = {place for place in self._federation.places if place[0] == FINAL}
        missing = not account.stopped and not due <= set(places) == sent
        if missing or len(set(places)) != len(places) or not set(places) >= sent:
            self._wrong.append(f"{account.name} {story} in its ledger")
        rounds = sorted((row for row in ledger if row.stage == FINAL), key=lambda row: row.round)
        if any(later.first <= earlier.last for earlier, later in pairwise(rounds)):
            self._wrong.append(f"{account.name}: some record is in two rounds")
        for row in ledger:
            self._wrong += self._contradictions(account, row)

    def _contradictions(self, account: Account, row: LedgerRow) -> Iterator[str]:
        """Where the report behind a ledger row is another on the wire or in the store."""
        name = account.name
        sent = account.placed.get((row.stage, row.round), set())
        counted = self._counted.get((name, row.stage, row.round))
        if len(sent) > 1 or (not sent and not account.stopped):
            yield f"{name} has sent {len(sent)} different {row.stage} reports of round {row.round}"
        if not {report_id(raw) for raw in sent} <= {row.report}:
            yield f"{name} has sent another {row.title} than its ledger says"
        may_be_missing = account.stopped or account.withdrawn
        if counted != row.report and (counted is not None or not may_be_missing):
            yield f"{name}: its {row.title} was not counted"
        if counted is None and row.verdict in ACCEPTED:
            yield f"{name}: its {row.title} is gone, and it was told: {row.verdict}"
        if row.verdict not in ACCEPTED and not _excused(account, row):
            yield f"{name}: {row.title} {row.verdict}: {row.reason}"

    def _interval(self, account: Account, row: LedgerRow) -> None:
        """A report is about as many records as the task says, and about those in the ledger."""
        covered = row.last - row.first + 1
        fits = covered == row.n or (not self._replayable and covered > row.n)
        if row.n != self._federation.records or not fits:
            self._wrong.append(
                f"{account.name}: a {row.title} about {row.n} records from an interval of {covered}"
            )

    def _values(self, account: Account, row: LedgerRow) -> np.ndarray:
        """What the merged report should have of this device."""
        if self._federation.mechanism == "none" and self._replayable:
            moments = self._federation.moments(account.number, row)
            raw = report_bytes(self._layouts.task, account.name, moments, SystemNoise(), row.round)
            return self._layouts.values(raw)
        # Noise, or records that a crash has lost: then what was sent must be counted.
        for raw in account.placed.get((row.stage, row.round), set()):
            return self._layouts.values(raw)
        return np.zeros(self._layouts.layouts[row.stage].width, np.int64)

    def _merged(self, stage: str, round: int, rows: np.ndarray) -> None:
        """The totals of a round are the sum of these rows."""
        totals = self._store.totals(self._layouts.key, stage, round)
        width = self._layouts.layouts[stage].width
        rows = rows.reshape(-1, width)
        merged = np.frombuffer(totals.values, "<i8") if totals.values else np.zeros(width, np.int64)
        self._wrong += self._federation.explain(stage, merged, rows.sum(axis=0))
        if totals.devices != len(rows):
            where = report_title(stage, round)
            self._wrong.append(f"{where}: {totals.devices} devices, not {len(rows)}")
        if self._federation.trimmed and len(rows):
            self._trimmed(stage, rows)

    def _recounted(self, patterns: Counter[str]) -> None:
        """Totals and sets of rounds are those of the stored reports."""
        for stage in self._layouts.layouts:
            if not agrees(self._store, self._layouts, stage):  # what `status --recount` tells
                self._wrong.append(f"{stage}: the totals are not those of the stored reports")
        del patterns[""]  # of those who have nothing there
        cached = self._store.patterns(self._layouts.key, FINAL)
        if self._layouts.follows(FINAL) and cached != patterns:
            self._wrong.append(f"sets of rounds: {cached}, not {dict(patterns)}")

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
