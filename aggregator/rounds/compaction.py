"""Old rounds without the bytes of their reports: totals, patterns and ids stay, and count on."""

from __future__ import annotations

from typing import NamedTuple

from aggregator.federation import Federation
from aggregator.store.base import Store
from fsir.privacy.plan import FINAL


class Compacted(NamedTuple):
    """What was dropped, and the first round that has its bytes."""

    reports: int
    bytes: int
    since: int


def compact(store: Store, federation: Federation, keep: int) -> Compacted:
    """Drop the bytes of all rounds of a federation but its newest `keep`.

    Of sealed reports they are dropped when a sum is opened, and needed until then.
    """
    newest = max((row.round for row in store.rounds(federation.key, FINAL)), default=0)
    since = max(1, newest - keep + 1)
    if federation.task.secure is not None:
        return Compacted(0, 0, since)
    with store.transaction():
        reports, dropped = store.compact(federation.key, FINAL, since)
    return Compacted(reports, dropped, since)
