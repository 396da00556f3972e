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

    Each round is a transaction of its own: a daemon counts on in between. Of sealed reports the
    bytes are dropped when they are opened, and needed until then.
    """
    counted = [row.round for row in store.rounds(federation.key, FINAL)]
    since = max(1, max(counted, default=0) - keep + 1)
    reports = 0
    dropped = 0
    for round in counted:
        if round < since and federation.follows(FINAL) and federation.task.secure is None:
            with store.transaction():
                found = store.compact(federation.key, FINAL, round)
            reports += found[0]
            dropped += found[1]
    return Compacted(reports, dropped, since)
