"""Counting, inside one transaction: which reports are new, and adding them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from aggregator.federation import AT_ONCE, Federation, add
from aggregator.glance import receipts as usual
from aggregator.intake import Arrival
from aggregator.publication import Publication
from aggregator.reasons import Refusal
from aggregator.rounds.recount import changed
from aggregator.rounds.sets import rounds_of, text_of
from aggregator.store.base import Store
from aggregator.store.rows import Counted, Place, RefusedRow, ReportRow
from fsir.limits import ID_BYTES
from fsir.privacy.plan import FINAL
from fsir.task.secure import HELPER
from fsir.wire import messages
from fsir.wire.messages import Receipt, Verdict

COUNTED, DUPLICATE, REFUSED = messages.STATUSES
SECOND = "second report"
_OTHER = dict(zip(messages.STAGES, messages.STAGES[::-1], strict=True))  # stage, by stage

Ids = Mapping[Place, bytes]
Known = Mapping[tuple[str, str], Counted]  # the last round that is counted, by device and stage
# What keeps new reports, inside the transaction; the ids in places that were filled meanwhile.
Keep = Callable[[Store, Federation, Sequence[Arrival], float], dict[Place, bytes]]


def count(
    store: Store,
    federation: Federation,
    arrivals: Sequence[Arrival],
    now: float,
    keep: Keep | None = None,
) -> list[Publication]:
    """Decide about every arrival of one federation, merge the new ones, answer each."""
    devices = [arrival.device for arrival in arrivals]
    places = [arrival.place for arrival in arrivals]
    known = store.last(federation.key, devices)
    ids = _counted_before(store, federation, places, known)
    barred = store.withdrawn(federation.key, devices)
    again = store.readmitted(federation.key, places)
    held = numbers(store, federation, devices)
    fresh = []
    for arrival, place in zip(arrivals, places, strict=True):
        arrival.barred = arrival.device in barred
        if arrival.refusal is None and _is_new(arrival, place, ids, again):
            ids[place] = arrival.id
            fresh.append(arrival)
    filled = (keep or _keep)(store, federation, fresh, now)
    if filled:
        _judge_again(arrivals, filled, again)
    for place, id in filled.items():
        _note_last(known, place, id)
    receipts = []
    for arrival, place in zip(arrivals, places, strict=True):
        if arrival.status == COUNTED:
            _note_last(known, place, arrival.id)
        number = held.get(arrival.device, b"")
        receipts.append(_answer(federation, arrival, {} if arrival.barred else known, number))
    return receipts


def _counted_before(
    store: Store, federation: Federation, places: Sequence[Place], known: Known
) -> dict[Place, bytes]:
    """Ids of the reports that are counted in these places; with one round the last is the only."""
    if federation.task.rounds == 1:
        return {(device, stage, last.round): last.id for (device, stage), last in known.items()}
    return store.lookup(federation.key, places)


def _judge_again(arrivals: Sequence[Arrival], filled: Ids, again: Ids) -> None:
    """Of places that another worker has filled meanwhile, none is ours.

    So a second report there may be the one that was counted.
    """
    for arrival in arrivals:
        second = arrival.refusal is not None and arrival.refusal.reason == SECOND
        if arrival.place in filled and (second or arrival.refusal is None):
            arrival.status = REFUSED
            arrival.refusal = None
            _is_new(arrival, arrival.place, filled, again)


def _is_new(arrival: Arrival, place: Place, ids: Ids, again: Ids) -> bool:
    """Whether to add a report; fills in its status, or why it is refused after all.

    One that was deleted with its device's withdrawal may come `again`, and no other in its place:
    the device has spent its budget on that one.
    """
    first = ids.get(place, again.get(place, arrival.id))
    if arrival.barred:
        arrival.refusal = withdrawn(arrival.device)
    elif first != arrival.id:
        arrival.refusal = Refusal(SECOND, f"{first.hex()} was counted before")
    elif place in ids:
        arrival.status = DUPLICATE
    else:
        arrival.status = COUNTED
        return True
    return False


def _note_last(known: dict[tuple[str, str], Counted], place: Place, id: bytes) -> None:
    """A late round is counted, and is not the last one."""
    device, stage, round = place
    before = known.get((device, stage))
    if before is None or before.round < round:
        known[device, stage] = Counted(round, id)


def _keep(
    store: Store, federation: Federation, fresh: Sequence[Arrival], now: float
) -> dict[Place, bytes]:
    """Keep new reports, and add them to the totals of their rounds."""
    groups: dict[tuple[str, int], list[Arrival]] = {}
    for arrival in fresh:
        groups.setdefault((arrival.stage, arrival.round), []).append(arrival)
    filled: dict[Place, bytes] = {}
    for stage, round in sorted(groups):  # in one order, lest two workers wait for each other
        filled |= _merge(store, federation, stage, round, groups[stage, round], now)
    take(store, federation, [arrival.place for arrival in fresh])
    return filled


def _merge(
    store: Store,
    federation: Federation,
    stage: str,
    round: int,
    group: Sequence[Arrival],
    now: float,
) -> dict[Place, bytes]:
    rows = [
        ReportRow(
            device=a.device, stage=stage, round=round, id=a.id, n=a.report.n, raw=a.raw, at=now
        )
        for a in group
        if a.report is not None
    ]
    filled = store.insert(federation.key, rows)
    if filled:
        group = [arrival for arrival in group if arrival.place not in filled]
        rows = [row for row in rows if (row.device, stage, round) not in filled]
    values = [arrival.values for arrival in group if arrival.values is not None]
    totals = store.part(federation.key, stage, round)
    for start in range(0, len(group), AT_ONCE):
        part = rows[start : start + AT_ONCE]
        sums = np.zeros(federation.layouts[stage].width, np.int64)
        for row in values[start : start + AT_ONCE]:
            sums += row
        totals = add(totals, sums, len(part), sum(row.n for row in part))
    if group:
        store.put_part(federation.key, stage, totals, round)
    return filled


def take(store: Store, federation: Federation, places: Sequence[Place]) -> None:
    """Remember which rounds of devices are in the totals, where these hang together."""
    more: dict[str, list[int]] = {}
    for device, stage, round in places:
        if federation.follows(stage):
            more.setdefault(device, []).append(round)
    if not more:
        return
    known = store.taken(federation.key, FINAL, list(more))
    before = {device: known.get(device, "") for device in more}
    changes = {
        device: (before[device], text_of([*rounds_of(before[device]), *rounds]))
        for device, rounds in more.items()
    }
    store.put_taken(federation.key, FINAL, changes)


def numbers(store: Store, federation: Federation, devices: Sequence[str]) -> dict[str, bytes]:
    """The numbers that hold for these devices; nobody asks under a task of version 1.

    Of two aggregators the leader is asked.
    """
    if not federation.task.tells_copies_apart or federation.by == HELPER:
        return {}
    return store.instances(federation.key, devices)


def _answer(federation: Federation, arrival: Arrival, known: Known, number: bytes) -> Publication:
    if arrival.status == COUNTED and (arrival.device, _OTHER[arrival.stage]) not in known:
        raw = usual.counted(federation.digest, federation.by, arrival.place, arrival.id, number)
        return addressed(federation, arrival.device, raw)
    reason = arrival.refusal.text if arrival.refusal else ""
    verdicts = {arrival.stage: Verdict(arrival.id, arrival.status, reason, arrival.round)}
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
        last = known.get((device, stage))
        if stage not in verdicts and last is not None:
            verdicts[stage] = Verdict(last.id, COUNTED, round=last.round)
    by = federation.by
    message = Receipt(task=task, device=device, verdicts=verdicts, instance=number, by=by)
    return addressed(federation, device, messages.encode(message))


def addressed(federation: Federation, device: str, payload: bytes) -> Publication:
    """A receipt on its way to a device."""
    place = messages.receipt_topic(federation.name, device, federation.by)
    kept = not federation.task.tells_copies_apart  # who can ask is answered, on whatever broker
    return Publication(place, payload, qos=0, retain=kept)


def receipt_of_withdrawn(
    federation: Federation, device: str, known: Known, task: bytes, number: bytes
) -> Publication:
    """What a device should know that was withdrawn: what it has sent was counted, and is no more.

    That is said in the reasons: version 0.1 reads such a receipt as any other. One that has sent
    nothing is told about what it would send, so that it spends nothing. Only who asks is told.
    """
    reason = withdrawn(device).text
    verdicts = {
        stage: Verdict(known[device, stage].id, COUNTED, reason, known[device, stage].round)
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

    The active set stays as it is, and so do rounds of which only the totals are left.
    """
    key = federation.key
    with store.transaction():
        rows = store.withdraw(key, device, now)
        for row in rows:
            totals = changed(store.totals(key, row.stage, row.round), federation, row, -1)
            store.put_totals(key, row.stage, totals, row.round)
        for before in store.taken(key, FINAL, [device]).values():
            after = text_of(store.compacted(key, FINAL, device))
            store.put_taken(key, FINAL, {device: (before, after)})
    return len(rows)


def readmit(store: Store, federation: Federation, device: str) -> int | None:
    """Let a device in again that was withdrawn; how many deleted reports of it may come again.

    None if it was not withdrawn.
    """
    with store.transaction():
        deleted = store.readmit(federation.key, device)
    return None if deleted is None else len(deleted)
