"""Counting sealed reports, inside one transaction: who may report, and what is kept."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from aggregator import merging
from aggregator.federation import Federation
from aggregator.intake import Arrival
from aggregator.publication import Publication
from aggregator.reasons import Refusal
from aggregator.secure.intake import EARLY
from aggregator.store.base import Store
from aggregator.store.rows import Place, ReportRow
from aggregator.store.sealed import Pool, ShareRow
from fsir.secure.groups import group_of
from fsir.secure.report import secure_of
from fsir.task.secure import HELPER

log = logging.getLogger("fsir.aggregator")


def count(
    store: Store, federation: Federation, arrivals: Sequence[Arrival], now: float
) -> list[Publication]:
    """Decide about every arrival of one federation, keep the new ones, answer each."""
    ready = [arrival for arrival in arrivals if arrival.status != EARLY]
    if len(ready) < len(arrivals):
        early = len(arrivals) - len(ready)
        log.info("task %r: %d report(s) came before the active set", federation.name, early)
    if federation.by == HELPER:
        _turn_away(store, federation, ready)
    return merging.count(store, federation, ready, now, _keep)


def _turn_away(store: Store, federation: Federation, arrivals: Sequence[Arrival]) -> None:
    """Refuse whom our own operator has not enrolled: a leader must not invent devices."""
    if store.roster_size(federation.name) == 0:
        return
    listed = store.listed(federation.name, [arrival.device for arrival in arrivals])
    for arrival in arrivals:
        if arrival.refusal is None and arrival.device not in listed:
            detail = f"{arrival.device!r} is not on the roster of the {federation.by}"
            arrival.refusal = Refusal("not enrolled", detail)


def _keep(
    store: Store, federation: Federation, fresh: Sequence[Arrival], now: float
) -> dict[Place, bytes]:
    """Keep new reports, of each our share, until they are opened."""
    groups = secure_of(federation.task).groups
    counted = [
        ReportRow(
            device=a.device,
            stage=a.stage,
            round=a.round,
            id=a.id,
            n=a.report.n,
            raw=a.share,
            at=now,
        )
        for a in fresh
        if a.report is not None
    ]
    shares = [
        ShareRow(
            id=row.id,
            device=row.device,
            pool=Pool(row.stage, row.round, group_of(federation.digest, row.device, groups)),
        )
        for row in counted
    ]
    filled = store.insert(federation.key, counted)  # nothing: we are alone
    store.put_shares(federation.key, shares)
    return filled
