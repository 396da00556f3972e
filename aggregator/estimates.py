"""When to estimate again, and how an estimate becomes the published subspace."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace

from aggregator.federation import Federation
from aggregator.gathering import gather
from aggregator.mqtt.publication import Publication
from aggregator.store.base import PublishedRow, Store
from fsir.estimate import subspace
from fsir.estimate.totals import Totals
from fsir.privacy.plan import FINAL
from fsir.task.task import TRIMMED
from fsir.wire import messages
from fsir.wire.decode import decode
from fsir.wire.messages import Subspace

LOG = logging.getLogger("fsir.aggregator")
LONGEST_PAUSE = 3600.0  # seconds, also if the clock was set meanwhile


@dataclass(frozen=True)
class Estimation:
    """An estimate that is due: work for any thread, on a copy of the totals or, if it trims, on a snapshot."""

    store: Store
    federation: Federation
    totals: Totals
    change: int
    refused: int
    at: float  # when it became due

    def run(self) -> messages.Subspace | None:
        """The estimate, or None if no report is left; its version is set when it is stored.

        A snapshot may be newer than `change`: the next look finds that out and estimates once more.
        """
        totals = self.totals
        if self.federation.task.aggregation == TRIMMED:
            with self.store.snapshot() as snapshot:
                totals = gather(snapshot, self.federation)
        if totals.devices == 0:
            return None
        return subspace.estimate(self.federation.task, totals, version=1, refused=self.refused)


class Estimating:
    """Compares what is published with the totals, at most every `debounce` seconds per task.

    Trimming opens all reports each time, beside the intake and with the same interpreter: it gets a tenth of the time.
    """

    def __init__(self, store: Store, debounce: float) -> None:
        self._store = store
        self._debounce = debounce
        self._looked: dict[str, float] = {}
        self._pause: dict[
            str, float
        ] = {}  # of tasks that trim: ten times what the last estimate took
        self._failed: dict[str, int] = {}  # changes of the totals that could not be estimated
        self.latest: dict[str, messages.Subspace] = {}  # what is on the wire, for the metrics

    def due(
        self, federations: Iterable[Federation], now: float, *, force: bool = False
    ) -> list[Estimation]:
        """The estimates to be made now."""
        jobs = []
        for federation in federations:
            pause = max(self._debounce, self._pause.get(federation.name, 0.0))
            if not force and now < self._looked.get(federation.name, float("-inf")) + pause:
                continue
            self._looked[federation.name] = now
            if FINAL not in federation.layouts:
                continue
            row = self._store.totals(federation.key, FINAL)
            shown = self.recall(federation)
            if row.change > max(shown.change if shown else 0, self._failed.get(federation.name, 0)):
                refused = sum(
                    count
                    for (name, _), count in self._store.refused_counts().items()
                    if name == federation.name
                )
                jobs.append(
                    Estimation(
                        self._store, federation, federation.totals(row), row.change, refused, now
                    )
                )
        return jobs

    def recall(self, federation: Federation) -> PublishedRow | None:
        """What is published, by this worker, an earlier one or another."""
        shown = self._store.published(federation.key, "subspace")
        known = self.latest.get(federation.name)
        if shown is not None and shown.body and (known is None or known.version != shown.version):
            message = decode(shown.body, Subspace)
            assert isinstance(message, messages.Subspace)
            self.latest[federation.name] = message
        return shown

    def failed(self, job: Estimation) -> None:
        """Note, inside an `except`, that an estimate failed: it is not tried again before the totals change."""
        self._failed[job.federation.name] = job.change
        LOG.exception(
            "task %r: the estimate from %d devices failed", job.federation.name, job.totals.devices
        )

    def publish(
        self, job: Estimation, result: messages.Subspace | None, now: float
    ) -> list[Publication]:
        """Store a finished estimate and return it for publication, unless another worker has a newer one."""
        federation = job.federation
        if federation.task.aggregation == TRIMMED:
            self._pause[federation.name] = min(10.0 * (now - job.at), LONGEST_PAUSE)
        with self._store.transaction():
            shown = self._store.published(federation.key, "subspace")
            if shown is not None and shown.change >= job.change:
                return []
            version = shown.version + 1 if shown else 1
            result = None if result is None else replace(result, version=version)
            # Without any report left there is no subspace: an empty message clears the retained one.
            body = b"" if result is None else messages.encode(result)
            row = PublishedRow(body, version, job.change, now)
            self._store.put_published(federation.key, "subspace", row)
        federation.shown["subspace"] = row
        self.recall(federation)
        LOG.info(
            "task %r: subspace version %d from %d devices",
            federation.name,
            version,
            job.totals.devices,
        )
        return [Publication(messages.topic(federation.name, "subspace"), body)]
