"""A small task with rounds, its reports, and what a store has of them."""

from __future__ import annotations

from functools import cache
from typing import Any

from aggregator.store.base import Store
from fsir.privacy.plan import FINAL
from tests.aggregator.federations import make_task, report

ROUNDS = 6
DEVICES = 4
TASK = make_task(p=3, records=60, report={"records": 60, "rounds": ROUNDS})


@cache
def raw(device: int, round: int) -> bytes:
    """The report of a device in a round."""
    return report(TASK, f"d{device}", 100 * round + device, round=round)


def counted(store: Store) -> dict[str, Any]:
    """Everything that an estimate reads, without how often it has changed."""
    totals = {
        row.round: (row.devices, row.records, store.totals(1, FINAL, row.round).values)
        for row in store.rounds(1, FINAL)
        if row.devices
    }
    return {"totals": totals, "patterns": store.patterns(1, FINAL)}
