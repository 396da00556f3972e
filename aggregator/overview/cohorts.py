"""How far sums are that two aggregators open; there is nothing to say of other tasks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from aggregator.federation import Federation
from aggregator.secure.cohorts import lacking
from aggregator.store.base import Store
from aggregator.store.sealed import LOST, OPENED, PENDING, CohortRow, Pool

NEWEST = 200  # pools in an overview


def cohorts(store: Store, federation: Federation) -> dict[str, Any]:
    """The `cohorts` of an overview, or nothing."""
    secure = federation.task.secure
    if secure is None:
        return {}
    waiting = store.waiting_shares(federation.key)
    begun: dict[Pool, list[CohortRow]] = {}
    for row in store.cohorts(federation.key):
        begun.setdefault(row.pool, []).append(row)
    pools = sorted(set(waiting) | set(begun))[-NEWEST:]
    return {
        "cohorts": {
            "cohort": secure.cohort,
            "groups": secure.groups,
            "waiting": sum(waiting.values()),
            "pools": [_pool(federation, p, waiting.get(p, 0), begun.get(p, [])) for p in pools],
        }
    }


def _pool(
    federation: Federation, pool: Pool, waiting: int, begun: list[CohortRow]
) -> dict[str, Any]:
    opened = [row for row in begun if row.state == OPENED]
    return {
        **pool._asdict(),
        "waiting": waiting,
        "lacking": lacking(federation.task, waiting),
        "pending": any(row.state == PENDING for row in begun),
        "opened": sum(row.devices for row in opened),
        "cohorts": len(opened),
        "lost": sum(row.state == LOST for row in begun),
    }


def opening(store: Store, federation: Federation) -> dict[str, str] | None:
    """What the next sum waits for, if reports wait: the fullest pool is told of."""
    waiting = store.waiting_shares(federation.key)
    if federation.task.secure is None or not waiting:
        return None
    most = max(waiting.values())
    more = lacking(federation.task, most)
    if more == 0:
        text = f"the other aggregator: {most} reports wait for a sum that both open"
    else:
        there = f"{most} of {federation.task.secure.cohort} wait"
        text = f"{more} more report(s) before a sum may be opened ({there})"
    return {"code": "cohort", "text": text}


def lines(entry: dict[str, Any]) -> Iterator[str]:
    """The same for a terminal."""
    found = entry.get("cohorts", {"pools": []})
    for pool in found["pools"]:
        where = pool["stage"]
        if entry.get("rounds"):
            where += f", round {pool['round']}"
        if found["groups"] > 1:
            where += f", group {pool['group']}"
        more = f", {pool['lacking']} more for a sum" if pool["lacking"] else ""
        opened = f"{pool['opened']} opened in {pool['cohorts']} sum(s)"
        lost = f", {pool['lost']} sum(s) lost" if pool["lost"] else ""
        yield f"  sealed ({where}): {opened}{lost}, {pool['waiting']} wait{more}"
