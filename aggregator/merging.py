"""Counting, inside one transaction: which reports are new, and adding them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from aggregator.federation import AT_ONCE, Federation, add
from aggregator.intake import Arrival
from aggregator.publication import Publication
from aggregator.reasons import Refusal
from aggregator.store.base import RefusedRow, ReportRow, Store, TotalsRow
from fsir.limits import ID_BYTES
from fsir.privacy.plan import FINAL
from fsir.task.secure import HELPER
from fsir.wire import messages
from fsir.wire.messages import Receipt, Verdict

COUNTED, DUPLICATE, REFUSED = messages.STATUSES

Known = Mapping[tuple[str, str], bytes]  # ids of counted reports, by device and stage
# What keeps the new reports of a stage, inside the transaction.
Merge = Callable[[Store, Federation, str, Sequence[Arrival], float], None]


def count(
    store: Store,
    federation: Federation,
    arrivals: Sequence[Arrival],
    now: float,
    merge: Merge | None = None,
) -> list[Publication]:
    """Decide about every arrival of one federation, merge the new ones, answer each."""
    merge = _merge if merge is None else merge
    devices = [arrival.device for arrival in arrivals]
    known = store.lookup(federation.key, devices)
    barred = store.withdrawn(federation.key, devices)
    again = store.readmitted(federation.key, devices)
    held = numbers(store, federation, devices)
    fresh: dict[str, list[Arrival]] = {}
    receipts = []
    for arrival in arrivals:
        arrival.barred = arrival.device in barred
        if arrival.refusal is None and _is_new(arrival, known, again):
            known[arrival.device, arrival.stage] = arrival.id
            fresh.setdefault(arrival.stage, []).append(arrival)
        number = held.get(arrival.device, b"")
        receipts.append(_answer(federation, arrival, {} if arrival.barred else known, number))
    for stage, group in fresh.items():
        merge(store, federation, stage, group, now)
    return receipts


def _is_new(arrival: Arrival, known: Known, again: Known) -> bool:
    """Whether to add a report; fills in its status, or why it is refused after all.

    One that was deleted with its device's withdrawal may come `again`, and no other in its place:
    the device has spent its budget on that one.
    """
    place = (arrival.device, arrival.stage)
    first = known.get(place, again.get(place, arrival.id))
    if arrival.barred:
        arrival.refusal = withdrawn(arrival.device)
    elif first != arrival.id:
        arrival.refusal = Refusal("second report", f"{first.hex()} was counted before")
    elif place in known:
        arrival.status = DUPLICATE
    else:
        arrival.status = COUNTED
        return True
    return False


def _merge(
    store: Store, federation: Federation, stage: str, group: Sequence[Arrival], now: float
) -> None:
    rows = [
        ReportRow(device=a.device, stage=stage, id=a.id, n=a.report.n, raw=a.raw, at=now)
        for a in group
        if a.report is not None
    ]
    store.insert(federation.key, rows)
    values = [arrival.values for arrival in group if arrival.values is not None]
    totals = store.totals(federation.key, stage)
    for start in range(0, len(group), AT_ONCE):
        part = rows[start : start + AT_ONCE]
        sums = np.zeros(federation.layouts[stage].width, np.int64)
        for row in values[start : start + AT_ONCE]:
            sums += row
        totals = add(totals, sums, len(part), sum(row.n for row in part))
    store.put_totals(federation.key, stage, totals)


def numbers(store: Store, federation: Federation, devices: Sequence[str]) -> dict[str, bytes]:
    """The numbers that hold for these devices; nobody asks under a task of version 1.

    Of two aggregators the leader is asked.
    """
    if not federation.task.tells_copies_apart or federation.by == HELPER:
        return {}
    return store.instances(federation.key, devices)


def _answer(federation: Federation, arrival: Arrival, known: Known, number: bytes) -> Publication:
    reason = arrival.refusal.text if arrival.refusal else ""
    verdicts = {arrival.stage: Verdict(arrival.id, arrival.status, reason)}
    if arrival.task != federation.digest:
        number = b""  # it holds for another edition than the receipt is about
    return receipt(federation, arrival.device, known, verdicts, arrival.task, number)


def receipt(
    federation: Federation,
    device: str,
    known: Known,
    verdicts: dict[str, Verdict],
    task: bytes,
    number: bytes = b"",
) -> Publication:
    """What a device should know: these verdicts, and which of its other stages are counted.

    One that has asked reads the number that holds for it; others could not read such a receipt.
    """
    for stage in messages.STAGES:
        if stage not in verdicts and (device, stage) in known:
            verdicts[stage] = Verdict(known[device, stage], COUNTED)
    by = federation.by
    message = Receipt(task=task, device=device, verdicts=verdicts, instance=number, by=by)
    place = messages.receipt_topic(federation.name, device, by)
    return Publication(place, messages.encode(message), qos=0)


def receipt_of_withdrawn(
    federation: Federation, device: str, known: Known, task: bytes, number: bytes
) -> Publication:
    """What a device should know that was withdrawn: what it has sent was counted, and is no more.

    That is said in the reasons: version 0.1 reads such a receipt as any other. One that has sent
    nothing is told about what it would send, so that it spends nothing. Only who asks is told.
    """
    reason = withdrawn(device).text
    verdicts = {
        stage: Verdict(known[device, stage], COUNTED, reason)
        for stage in messages.STAGES
        if (device, stage) in known
    }
    nothing = {FINAL: Verdict(bytes(ID_BYTES), REFUSED, reason)}
    return receipt(federation, device, {}, verdicts or nothing, task, number)


def withdrawn(device: str) -> Refusal:
    """Why nothing of a device is counted any more."""
    return Refusal("withdrawn", f"{device!r} was taken out of this task")


def quarantine(store: Store, arrivals: Sequence[Arrival], now: float) -> None:
    """Keep what is refused for whoever asks why; of a device that was withdrawn, not its bytes."""
    rows = [
        RefusedRow(
            task=arrival.name,
            device=arrival.device,
            stage=arrival.stage,
            id=arrival.id,
            reason=arrival.refusal.reason,
            detail=arrival.refusal.text,
            length=len(arrival.raw),
            raw=b"" if arrival.barred else arrival.raw,
            at=now,
        )
        for arrival in arrivals
        if arrival.refusal is not None
    ]
    if rows:
        store.refuse(rows)


def withdraw(store: Store, federation: Federation, device: str, now: float) -> int:
    """Take a device out of a federation; how many reports that were.

    The active set stays as it is.
    """
    with store.transaction():
        rows = store.withdraw(federation.key, device, now)
        for row in rows:
            totals = _added(store.totals(federation.key, row.stage), federation, row, -1)
            store.put_totals(federation.key, row.stage, totals)
    return len(rows)


def readmit(store: Store, federation: Federation, device: str) -> int | None:
    """Let a device in again that was withdrawn; how many deleted reports of it may come again.

    None if it was not withdrawn.
    """
    with store.transaction():
        deleted = store.readmit(federation.key, device)
    return None if deleted is None else len(deleted)


def recount(store: Store, federation: Federation, stage: str) -> TotalsRow:
    """The totals of a stage, added up again from the stored reports."""
    totals = TotalsRow()
    for row in store.reports(federation.key, stage):
        totals = _added(totals, federation, row, 1)
    return totals


def _added(totals: TotalsRow, federation: Federation, row: ReportRow, times: int) -> TotalsRow:
    """Totals with a report, or with `times = -1` without it; one that was withdrawn is no more."""
    if row.raw is None:
        return totals
    return add(totals, times * federation.values(row.raw), times, times * row.n)


def agrees(store: Store, federation: Federation, stage: str) -> bool:
    """Whether the totals, a cache, are what the stored reports add up to."""
    cached = store.totals(federation.key, stage)
    again = recount(store, federation, stage)
    same = (cached.devices, cached.records) == (again.devices, again.records)
    return same and (cached.values == again.values or not (again.values or any(cached.values)))
