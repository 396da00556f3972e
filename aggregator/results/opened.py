"""From the sums that two aggregators have opened to what an estimate starts from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from aggregator.federation import Federation, add
from aggregator.store.base import Store
from aggregator.store.rows import TotalsRow
from aggregator.store.sealed import CohortRow
from fsir.arrays import Integers
from fsir.estimate.totals import Totals, opened_totals
from fsir.estimate.trimming import grouped_totals
from fsir.privacy.plan import FINAL
from fsir.secure.opening import opened
from fsir.secure.ring import ring_of


def opened_values(federation: Federation, row: CohortRow) -> Integers:
    """The sum of a cohort, with the noise of both aggregators."""
    ring = ring_of(federation.task, federation.layouts[row.pool.stage].stage)
    return opened(ring, ring.unpack(row.own), ring.unpack(row.other))


def gather_opened(store: Store, federation: Federation, stage: str) -> Totals:
    """What the opened sums of a stage amount to, trimmed if there are groups.

    Call it where the store stands still.
    """
    layout = federation.layouts[stage].stage
    rows: dict[int, list[CohortRow]] = {}
    for row in store.opened_cohorts(federation.key, stage):
        rows.setdefault(row.pool.group, []).append(row)
    groups = []
    for cohorts in rows.values():
        total = _added(federation, iter(cohorts))
        values = np.frombuffer(total.values, "<i8")
        groups.append(opened_totals(layout, values, total.devices, len(cohorts), total.records))
    if federation.task.secure is not None and federation.task.secure.groups == 1 and groups:
        return groups[0]
    return grouped_totals(layout, groups)


def series(store: Store, federation: Federation, stage: str = FINAL) -> dict[tuple[int, ...], int]:
    """The noise of both aggregators over rounds, as that of so many devices with these rounds.

    The cohorts of one number in a group are one series over all rounds, whose noise hangs together
    as that of a device does; it is what the devices of a cohort would bring, from each of the two.
    """
    rounds: dict[tuple[int, int], list[int]] = {}
    for row in store.opened_cohorts(federation.key, stage):
        rounds.setdefault((row.pool.group, row.number), []).append(row.pool.round)
    patterns = Counter(tuple(sorted(found)) for found in rounds.values())
    cohort = federation.layouts[stage].stage.cohort or 0
    return {pattern: 2 * cohort * count for pattern, count in patterns.items()}


def agrees_with_opened(store: Store, federation: Federation, stage: str) -> bool:
    """Whether the totals of each round are what its opened sums add up to."""
    rounds: dict[int, list[CohortRow]] = {}
    for row in store.opened_cohorts(federation.key, stage):
        if row.other:  # the helper has no sum, and no totals
            rounds.setdefault(row.pool.round, []).append(row)
    again = {round: _added(federation, iter(rows)) for round, rows in rounds.items()}
    cached = [row.round for row in store.rounds(federation.key, stage)]
    return sorted(again) == cached and all(
        again[round] == store.totals(federation.key, stage, round) for round in cached
    )


def _added(federation: Federation, cohorts: Iterator[CohortRow]) -> TotalsRow:
    total = TotalsRow()
    for row in cohorts:
        total = add(total, opened_values(federation, row), row.devices, row.records)
    return total
