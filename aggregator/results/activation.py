"""When the active set is chosen, and from what: once and for all, because devices pin it."""

from __future__ import annotations

import logging

from aggregator.federation import Federation
from aggregator.results.gathering import gather
from aggregator.store.base import Store
from aggregator.store.rows import PublishedRow, TotalsRow
from fsir.privacy.plan import SCREENING
from fsir.task.task import TRIMMED, Screening
from fsir.wire import messages
from fsir.wire.messages import Active

log = logging.getLogger("fsir.aggregator")


class Activating:
    """Chooses active sets, and notices those that other workers have chosen."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def notice(self, federation: Federation) -> None:
        """Pin the active set if there is one by now."""
        if federation.active is None and federation.task.screening is not None:
            row = self._store.published(federation.key, "active")
            if row is not None:
                federation.pin(row.body)

    def due(self, federation: Federation, now: float) -> bool:
        """Whether the rule for publishing the active set is met."""
        rule = federation.task.screening
        if rule is None or federation.active is not None:
            return False
        devices = self._store.totals(federation.key, SCREENING).devices
        if devices >= rule.quorum or devices == 0 or rule.wait_seconds <= 0.0:
            return devices >= rule.quorum
        first = self._store.first_at(federation.key, SCREENING)
        return first is not None and now >= first + rule.wait_seconds

    def activate(self, federation: Federation, now: float) -> PublishedRow | None:
        """Inside a transaction: choose the active set if its rule is met, once and for all.

        It is published after the commit (`Federation.show`).
        """
        # Another worker may have been faster. Ours is pinned only by reading it back after the
        # commit.
        rule = federation.task.screening
        if (
            rule is None
            or not self.due(federation, now)
            or self._store.published(federation.key, "active") is not None
        ):
            return None
        row = self._store.totals(federation.key, SCREENING)
        if row.devices < 1.125 * federation.fruitless:
            return None  # opening all reports again with every batch would slow the intake down
        chosen = self._choose(federation, rule, row)
        if chosen is None:
            _note_fruitless(federation, row.devices)
            return None
        return self._put(federation, chosen, row, now)

    def _choose(self, federation: Federation, rule: Screening, row: TotalsRow) -> Active | None:
        votes = federation.layouts[SCREENING].votes
        totals = None if votes else gather(self._store, federation, SCREENING)
        return federation.choose(rule, row, totals)

    def _put(
        self, federation: Federation, chosen: Active, row: TotalsRow, now: float
    ) -> PublishedRow:
        body = messages.encode(chosen)
        published = PublishedRow(body=body, version=1, change=row.change, at=now)
        self._store.put_published(federation.key, "active", published)
        log.info(
            "task %r: %d active features from %d devices",
            federation.name,
            len(chosen.features),
            row.devices,
        )
        return published


def _note_fruitless(federation: Federation, devices: int) -> None:
    federation.fruitless = devices if federation.task.aggregation == TRIMMED else 0
    log.warning(
        "task %r: no feature stands out among %d screening reports", federation.name, devices
    )
