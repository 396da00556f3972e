"""`fsir-aggregator withdraw`: takes a device out again."""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter

from aggregator import merging
from aggregator.commands.stored import add_json, add_store, opened
from aggregator.enrolment.names import NAME_RULE
from aggregator.enrolment.nearest import meant
from aggregator.federation import Federation
from aggregator.secure import withdrawal
from aggregator.store.base import Store
from aggregator.store.errors import StoreError
from fsir.limits import DEVICE_NAME
from fsir.privacy.plan import FINAL

PAGE = {
    "description": """\
Take a device out again: its reports are subtracted exactly and their bytes deleted, and no new \
report of it is
accepted. A running daemon publishes the subspace without it within seconds, and tells the device, \
which stops. The active
set stays: it is pinned on all devices. `readmit` undoes a slip; it does not bring deleted bytes \
back.

Where two aggregators open sums, a report can be taken out at either of them until its sum is open.
"""
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The device, and which store."""
    parser.add_argument("device", metavar="DEVICE")
    parser.add_argument(
        "--future",
        action="store_true",
        help="although nothing is known of such a device: refuse it if it ever comes",
    )
    add_store(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Take a device out again."""
    device = args.device
    with opened(args, update=True) as (store, federations):
        if not args.future:
            _require_known(store, federations, device)
        elif not DEVICE_NAME.match(device):
            raise StoreError(f"{device!r}: no device can have this name, which has {NAME_RULE}")
        taken = Counter({federation.name: 0 for federation in federations})
        since: dict[str, int] = {}
        for federation in federations:  # of one name there may be several editions
            taken[federation.name] += _withdraw(store, federation, device, args.future)
            if stay := store.compacted(federation.key, FINAL, device):
                since[federation.name] = stay[-1] + 1
        scrubbed = store.scrub()
    if args.json:
        told = {"device": device, "withdrawn_reports": taken, "scrubbed": scrubbed}
        print(json.dumps(told | ({"since_round": since} if since else {})))
    else:
        _print(device, taken, since, "" if scrubbed else store.leftover)
    return 0


def _withdraw(store: Store, federation: Federation, device: str, future: bool) -> int:
    if federation.task.secure is None:
        return merging.withdraw(store, federation, device, time.time())
    return withdrawal.withdraw(store, federation, device, time.time(), future=future)


def _require_known(store: Store, federations: list[Federation], device: str) -> None:
    """A name that nobody has heard of is most likely a slip."""
    known = {name for each in federations for name in store.known_devices(each.key, each.name)}
    if device not in known:
        raise StoreError(
            f"{device!r}: no such device has reported, asked or is on a roster"
            f"{meant(device, sorted(known))}; "
            "add --future to refuse it in case that it comes later"
        )


def _print(device: str, taken: dict[str, int], since: dict[str, int], leftover: str) -> None:
    for name, count in taken.items():
        none = "had no report here; a future one will be refused"
        done = f"{count} report(s) taken out" if count or name in since else none
        print(f"task {name}: {device!r} {done}{_from(since.get(name))}")
    if leftover:
        print(leftover)


def _from(round: int | None) -> str:
    if round is None:
        return ""
    return f", from round {round} on: rounds before were compacted, and what it has in them stays"
