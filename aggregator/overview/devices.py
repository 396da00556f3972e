"""Which devices have reported and which are missing; nothing about what they have sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aggregator.federation import Federation
from aggregator.store.base import Store
from fsir.privacy.plan import FINAL

MEANINGS = {
    "reported": "its report of the current stage is counted",
    "waiting": "it has connected or sent an earlier report, and this one is still to come",
    "silent": "it is on the roster, and nothing was heard of it",
    "withdrawn": "it was taken out",
    "unlisted": "it is counted, and not on the roster",
}
FEW = 20  # names of each state in an overview
MOST = 1000  # names on one page


def current_stage(federation: Federation) -> str:
    """The stage whose reports are being collected."""
    return FINAL if FINAL in federation.layouts else federation.first


def about(federation: Federation) -> dict[str, object]:
    """What the store must know to tell the states of a task's devices."""
    key = {"key": federation.key, "name": federation.name}
    return {**key, "stage": current_stage(federation)}


def counts(store: Store, federation: Federation) -> dict[str, int]:
    """How many devices are in each state; `expected` and `missing` are about the roster."""
    whom = about(federation)
    size = store.roster_size(federation.name)
    expected = size - (store.count_devices(whom, "excused") if size else 0)
    missing = store.count_devices(whom, "missing") if size else 0
    reported = _reported(store, federation, whom)
    return {
        "roster": size,
        "expected": expected,
        "missing": missing,
        "reported": reported,
        "waiting": store.count_devices(whom, "waiting"),
        "silent": store.count_devices(whom, "silent") if missing else 0,
        "withdrawn": store.count_devices(whom, "withdrawn"),
        # Who is expected and not missing has reported; the others who have are not on the roster.
        "unlisted": reported - (expected - missing) if size else 0,
    }


def _reported(store: Store, federation: Federation, whom: dict[str, object]) -> int:
    """From the totals, unless a device may have several reports, or reports wait for theirs."""
    stage = current_stage(federation)
    if federation.follows(stage) or federation.task.secure is not None:
        return store.count_devices(whom, "reported")
    return store.totals(federation.key, stage).devices


def names(store: Store, federation: Federation, found: Mapping[str, int]) -> dict[str, list[str]]:
    """The first names of those to look after."""
    whom = about(federation)
    return {
        state: store.list_devices(whom, state, FEW) if found[state] else []
        for state in ("waiting", "silent", "withdrawn", "unlisted")
    }


def roster(store: Store, federation: Federation) -> list[tuple[str, str]]:
    """Everybody on the roster, in the order of their names, and their state."""
    whom = about(federation)
    states = {
        device: state
        for state in ("waiting", "reported", "withdrawn")
        for device in store.list_devices(whom, state, -1)
    }
    names = store.on_roster(federation.name, -1)
    return [(device, states.get(device, "silent")) for device in names]


def page(
    store: Store, federation: Federation, state: str, *, after: str = "", limit: int = 100
) -> dict[str, Any]:
    """Names of devices in a state; `next` goes into `after` for those that follow, if any do."""
    limit = max(1, min(limit, MOST))
    names = store.list_devices(about(federation), state, limit + 1, after)
    more = len(names) > limit
    return {"state": state, "names": names[:limit], "next": names[limit - 1] if more else None}
