"""The caches, made again from the stored reports: what `status --recount` compares."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from aggregator.federation import Federation, add
from aggregator.rounds.sets import text_of
from aggregator.store.base import Store
from aggregator.store.rows import ReportRow, TotalsRow


@dataclass
class Recount:
    """What the stored reports of a stage add up to, round by round.

    Of rounds that were `compacted` only devices and records are known; their sums lack something.
    """

    totals: dict[int, TotalsRow] = field(default_factory=dict)
    patterns: Counter[str] = field(default_factory=Counter)
    compacted: set[int] = field(default_factory=set)


def recounted(store: Store, federation: Federation, stage: str) -> Recount:
    """Everything about a stage, in one pass over its reports."""
    found = Recount()
    taken: dict[str, list[int]] = {}
    for row in store.reports(federation.key, stage):
        if row.raw is None:
            continue  # withdrawn
        if not row.raw:
            found.compacted.add(row.round)
        before = found.totals.get(row.round, TotalsRow())
        found.totals[row.round] = changed(before, federation, row, 1)
        if federation.follows(stage):
            taken.setdefault(row.device, []).append(row.round)
    found.patterns.update(text_of(rounds) for rounds in taken.values())
    return found


def changed(totals: TotalsRow, federation: Federation, row: ReportRow, times: int) -> TotalsRow:
    """Totals with a report, or with `times = -1` without it."""
    width = federation.layouts[row.stage].width
    values = federation.values(row.raw) if row.raw else np.zeros(width, np.int64)
    return add(totals, times * values, times, times * row.n)


def recount(store: Store, federation: Federation, stage: str, round: int = 1) -> TotalsRow:
    """The totals of a round, added up again."""
    return recounted(store, federation, stage).totals.get(round, TotalsRow())


def agrees(store: Store, federation: Federation, stage: str) -> bool:
    """Whether the caches are what the stored reports add up to, as far as these are there."""
    again = recounted(store, federation, stage)
    if again.patterns != store.patterns(federation.key, stage):
        return False
    cached = {row.round for row in store.rounds(federation.key, stage)}
    return all(
        _same(
            store.totals(federation.key, stage, round),
            again.totals.get(round, TotalsRow()),
            sums=round not in again.compacted,
        )
        for round in cached | set(again.totals)
    )


def _same(cached: TotalsRow, again: TotalsRow, *, sums: bool) -> bool:
    if (cached.devices, cached.records) != (again.devices, again.records):
        return False
    return not sums or cached.values == again.values or not (again.values or any(cached.values))
