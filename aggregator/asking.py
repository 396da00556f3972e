"""Asks: of several copies of one device, which one goes on.

Each copy asks on each connection to go on under a new random number, in place of the one it had
before. We hold one number per device and replace it only if the ask names it: so of two copies that
were one, the first to ask moves on, and the other reads in its receipt a number that it never drew.
Of two aggregators the leader holds the numbers. The helper says what it knows of the device, and
repeats the number of the ask, so that the device knows to which question that is the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aggregator import merging
from aggregator.federation import Federation
from aggregator.intake import Arrival
from aggregator.publication import Publication
from aggregator.reasons import Refusal
from aggregator.store.base import Store
from fsir.errors import MessageError, VersionError
from fsir.limits import DEVICE_NAME
from fsir.task.secure import HELPER
from fsir.wire.decode import decode
from fsir.wire.messages import Ask, report_id, topic

CONFIRMED = "confirmed"  # the number of the ask holds
ANOTHER = "another"  # it does not: another copy is ahead, or this store is older than the device


def apart(
    arrivals: Sequence[Arrival], federations: Iterable[Federation]
) -> tuple[list[Arrival], list[Arrival]]:
    """The asks, which are read here, and all else; nobody asks under a task of version 1."""
    places = {topic(f.name, "ask"): f for f in federations if f.task.tells_copies_apart}
    asks: list[Arrival] = []
    others: list[Arrival] = []
    for arrival in arrivals:
        place, _, device = arrival.topic.rpartition("/")
        if place in places:
            asks.append(arrival)
            if arrival.refusal is None:
                _read(arrival, device, places[place])
        else:
            others.append(arrival)
    return asks, others


def _read(arrival: Arrival, device: str, federation: Federation) -> None:
    """Fill in what one ask says, or why it is refused."""
    arrival.id = report_id(arrival.raw)
    if not DEVICE_NAME.match(device):
        arrival.refusal = Refusal("wrong topic", f"topic {arrival.topic[:100]!r} is of no device")
        return
    arrival.federation = federation
    arrival.device = device
    try:
        ask = decode(arrival.raw, Ask)
    except VersionError as error:
        arrival.refusal = Refusal("wrong version", str(error))
    except MessageError as error:
        arrival.refusal = Refusal("malformed", str(error))
    else:
        arrival.ask = ask
        arrival.task = ask.task
        arrival.refusal = _mismatch(ask, device, federation)


def _mismatch(ask: Ask, device: str, federation: Federation) -> Refusal | None:
    if ask.device != device:
        return Refusal("wrong device", f"names {ask.device!r} but came by the topic of {device!r}")
    # A device that stays with an earlier edition must be heard: its report is still to be refused.
    if ask.task not in federation.editions:
        made_for = ask.task.hex()[:16]
        return Refusal("wrong task", f"is about task {made_for}, unknown as {federation.name!r}")
    return None


def answer(store: Store, federation: Federation, asks: Sequence[Arrival]) -> list[Publication]:
    """Inside a transaction: decide which numbers hold from now on, and tell every asker.

    The asks of other federations are left alone.
    """
    groups: dict[bytes, list[tuple[Arrival, Ask]]] = {}
    for arrival in asks:
        if arrival.federation is federation and arrival.refusal is None and arrival.ask is not None:
            groups.setdefault(arrival.task, []).append((arrival, arrival.ask))
    return [
        publication
        # In one order, lest two workers wait for each other.
        for digest, group in sorted(groups.items())
        for publication in _answer(store, federation, digest, group)
    ]


def _answer(
    store: Store, federation: Federation, digest: bytes, group: Sequence[tuple[Arrival, Ask]]
) -> list[Publication]:
    key = federation.editions[digest]
    devices = [ask.device for _, ask in group]
    known = store.last(key, devices)
    barred = store.withdrawn(key, devices)
    # Of two aggregators the leader keeps the numbers.
    held = {} if federation.by == HELPER else store.hold_instances(key, devices)
    before = dict(held)
    receipts = []
    for arrival, ask in group:
        if federation.by == HELPER or held.get(ask.device) in (None, ask.previous):
            held[ask.device] = ask.instance
        number = held[ask.device]
        arrival.status = CONFIRMED if number == ask.instance else ANOTHER
        told = (federation, ask.device, known)
        if ask.device in barred:
            receipts.append(merging.receipt_of_withdrawn(*told, digest, number))
        else:
            receipts.append(merging.receipt(*told, {}, digest, number))
    moved = {device: number for device, number in held.items() if before.get(device) != number}
    if federation.by != HELPER:
        store.put_instances(key, moved)
    return receipts
