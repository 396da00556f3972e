"""Counting: which of the reports that passed all tests are new, and adding them, inside one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from aggregator.federation import AT_ONCE, Federation, add
from aggregator.intake import Arrival
from aggregator.mqtt.publication import Publication
from aggregator.reasons import Refusal
from aggregator.store.base import ReportRow, Store, TotalsRow
from fsir.wire import messages

COUNTED, DUPLICATE, REFUSED = messages.STATUSES


def count(
    store: Store, federation: Federation, arrivals: Sequence[Arrival], now: float
) -> list[Publication]:
    """Decide about every arrival of one federation, merge the new ones, and return a receipt for each."""
    devices = [arrival.device for arrival in arrivals]
    known = store.lookup(federation.key, devices)
    barred = store.withdrawn(federation.key, devices)
    fresh: dict[str, list[Arrival]] = {}
    receipts = []
    for arrival in arrivals:
        arrival.barred = arrival.device in barred
        if arrival.refusal is None:
            place = (arrival.device, arrival.stage)
            if arrival.barred:
                arrival.refusal = Refusal(
                    "withdrawn", f"{arrival.device!r} was taken out of this task"
                )
            elif place not in known:
                known[place] = arrival.id
                arrival.status = COUNTED
                fresh.setdefault(arrival.stage, []).append(arrival)
            elif known[place] == arrival.id:
                arrival.status = DUPLICATE
            else:
                arrival.refusal = Refusal(
                    "second report", f"{known[place].hex()} was counted before"
                )
        receipts.append(_answer(federation, arrival, {} if arrival.barred else known))
    for stage, group in fresh.items():
        _merge(store, federation, stage, group, now)
    return receipts


def _merge(
    store: Store, federation: Federation, stage: str, group: Sequence[Arrival], now: float
) -> None:
    rows = [
        ReportRow(a.device, stage, a.id, a.report.n, a.raw, now)
        for a in group
        if a.report is not None
    ]
    store.insert(federation.key, rows)
    totals = store.totals(federation.key, stage)
    for start in range(0, len(group), AT_ONCE):
        values = np.zeros(federation.layouts[stage].width, np.int64)
        for arrival in group[start : start + AT_ONCE]:
            assert arrival.values is not None
            values += arrival.values
        part = rows[start : start + AT_ONCE]
        totals = add(totals, values, len(part), sum(row.n for row in part))
    store.put_totals(federation.key, stage, totals)


def _answer(
    federation: Federation, arrival: Arrival, known: Mapping[tuple[str, str], bytes]
) -> Publication:
    reason = arrival.refusal.text if arrival.refusal else ""
    verdicts = {arrival.stage: messages.Verdict(arrival.id, arrival.status, reason)}
    return receipt(federation, arrival.device, known, verdicts, arrival.task)


def receipt(
    federation: Federation,
    device: str,
    known: Mapping[tuple[str, str], bytes],
    verdicts: dict[str, messages.Verdict],
    task: bytes,
) -> Publication:
    """What a device should know: these verdicts, and that its other stages are counted, if they are."""
    for stage in messages.STAGES:
        if stage not in verdicts and (device, stage) in known:
            verdicts[stage] = messages.Verdict(known[device, stage], COUNTED)
    raw = messages.encode(messages.Receipt(task, device, verdicts))
    return Publication(messages.topic(federation.name, "receipt", device), raw, qos=0)


def withdraw(store: Store, federation: Federation, device: str, now: float) -> int:
    """Take a device out of a federation for good; how many reports that were. The active set stays as it is."""
    with store.transaction():
        rows = store.withdraw(federation.key, device, now)
        for row in rows:
            assert row.raw is not None
            before = store.totals(federation.key, row.stage)
            store.put_totals(
                federation.key, row.stage, add(before, -federation.values(row.raw), -1, -row.n)
            )
    return len(rows)


def recount(store: Store, federation: Federation, stage: str) -> TotalsRow:
    """The totals of a stage, added up again from the stored reports."""
    totals = TotalsRow()
    for row in store.reports(federation.key, stage):
        if row.raw is not None:
            totals = add(totals, federation.values(row.raw), 1, row.n)
    return totals


def agrees(store: Store, federation: Federation, stage: str) -> bool:
    """Whether the totals, a cache, are what the stored reports add up to."""
    cached, again = store.totals(federation.key, stage), recount(store, federation, stage)
    same = (cached.devices, cached.records) == (again.devices, again.records)
    return same and (cached.values == again.values or not (again.values or any(cached.values)))
