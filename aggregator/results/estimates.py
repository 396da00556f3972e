"""When to estimate again, and how an estimate becomes the published subspace."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from aggregator.federation import Federation
from aggregator.publication import Publication
from aggregator.results.emission import Emission, Shown
from aggregator.results.following import Followed, follow, with_movement
from aggregator.results.gathering import gather
from aggregator.store.base import Store
from aggregator.store.rows import PublishedRow, VersionRow
from fsir.estimate import subspace
from fsir.estimate.forecast import Forecast, forecast
from fsir.estimate.totals import Totals
from fsir.privacy.plan import FINAL
from fsir.task.task import SECURE, TRIMMED
from fsir.wire import messages
from fsir.wire.decode import decode
from fsir.wire.messages import Subspace

log = logging.getLogger("fsir.aggregator")
LONGEST_PAUSE_SECONDS = 3600.0  # also if the clock was set meanwhile


class Estimated(NamedTuple):
    """A subspace, what twice as many devices would make of it, and what its rounds tell."""

    subspace: Subspace
    forecast: Forecast | None
    followed: Followed | None = None  # where there are several


@dataclass(frozen=True, kw_only=True)
class Estimation:
    """An estimate that is due: work for any thread.

    It is done on a copy of the totals or, if it trims or has several rounds, on a snapshot.
    """

    store: Store
    federation: Federation
    totals: Totals | None
    devices: int
    change: int
    refused: int
    at: float  # when it became due
    reports: int = 0  # of all rounds

    def run(self) -> Estimated | None:
        """The estimate, or None if no report is left; its version is set when it is stored.

        A snapshot may be newer than `change`: the next look finds that out and estimates once more.
        """
        totals = self.totals
        followed = None
        if totals is None:
            with self.store.snapshot() as snapshot:
                if self.federation.follows(FINAL):
                    followed = follow(snapshot, self.federation)
                    totals = followed.totals
                else:
                    totals = gather(snapshot, self.federation)
        if totals.devices == 0:
            return None
        task = self.federation.task
        found = subspace.fit(task, totals) if task.public is None else None
        made = subspace.estimate(task, totals, version=1, refused=self.refused, found=found)
        if followed is not None:
            made = replace(made, notes=made.notes + followed.notes)
        return Estimated(made, self._forecast(totals, found), followed)

    def _forecast(self, totals: Totals, found: subspace.Fit | None) -> Forecast | None:
        try:
            return forecast(self.federation.task, totals, found=found)
        except Exception:  # devices must have their subspace, whatever operators are told
            log.exception("task %r: the forecast failed", self.federation.name)
            return None


class Estimating:
    """Compares what is published with the totals, at most every `debounce` seconds per task.

    A change is estimated when the rule of `emission` says so, for each version goes to all devices.
    Once as many devices have reported as are `expected`, nobody waits for more.
    Trimming opens all reports each time, beside the intake and with the same interpreter: it gets a
    tenth of the time.
    """

    def __init__(
        self,
        store: Store,
        debounce: float,
        expected: int | None = None,
        emission: Emission | None = None,
    ) -> None:
        self._store = store
        self._emission = emission or Emission()
        self._changes: dict[str, tuple[int, float]] = {}  # of the totals: the last one, and when
        self._debounce = debounce
        self._expected = expected
        self._looked: dict[str, float] = {}
        # Of tasks that trim: ten times what the last estimate took.
        self._pause: dict[str, float] = {}
        self._failed: dict[str, int] = {}  # changes of the totals that could not be estimated
        # The change of what was published last by us, and how many reports it was made of.
        self._told: dict[str, tuple[int, int]] = {}
        self.latest: dict[str, Subspace] = {}  # what is on the wire, for the metrics

    def due(self, federations: Iterable[Federation], now: float) -> list[Estimation]:
        """The estimates to be made now."""
        jobs = []
        for federation in federations:
            if self._too_early(federation.name, now) and not self.complete(federation):
                continue
            self._looked[federation.name] = now
            if FINAL in federation.layouts:
                jobs += self._changed(federation, now)
        return jobs

    def _too_early(self, name: str, now: float) -> bool:
        pause = max(self._debounce, self._pause.get(name, 0.0))
        return now < self._looked.get(name, float("-inf")) + pause

    def complete(self, federation: Federation) -> bool:
        """Whether all that are expected have reported, in the newest round if there are several."""
        if self._expected is None or federation.task.aggregation == TRIMMED:
            return False
        rounds = self._store.rounds(federation.key, FINAL)
        return bool(rounds) and rounds[-1].devices >= self._expected

    def _changed(self, federation: Federation, now: float) -> list[Estimation]:
        """An estimate, unless the totals are those of the last one that was published or failed."""
        rounds = self._store.rounds(federation.key, FINAL)
        change = sum(row.change for row in rounds)
        shown = self.recall(federation)
        known = max(shown.change if shown else 0, self._failed.get(federation.name, 0))
        reports = sum(row.devices for row in rounds)
        if change <= known or not self._worth(federation, shown, reports, change, now):
            return []
        totals = None
        plain = federation.task.aggregation not in (TRIMMED, SECURE)
        if plain and not federation.follows(FINAL):
            row = self._store.totals(federation.key, FINAL)
            totals = federation.totals(row)
            change = row.change
        job = Estimation(
            store=self._store,
            federation=federation,
            totals=totals,
            devices=max((row.devices for row in rounds), default=0),
            reports=reports,
            change=change,
            refused=self._refused(federation.name),
            at=now,
        )
        return [job]

    def _worth(
        self,
        federation: Federation,
        shown: PublishedRow | None,
        reports: int,
        change: int,
        now: float,
    ) -> bool:
        """Whether devices should be told of this change now; `reports` are those of all rounds."""
        name = federation.name
        if self._changes.get(name, (0, 0.0))[0] != change:
            self._changes[name] = (change, now)
        if shown is None or not shown.body or self.complete(federation):
            return True
        # Of what another worker has published, or this one before its start, the versions tell.
        base = self._told.get(name, (-1, 0))
        known = base[1] if base[0] == shown.change else self.latest[name].devices
        return self._emission.due(Shown(known, shown.at), reports, now, self._changes[name][1])

    def _refused(self, task: str) -> int:
        """Reports of this task that were refused so far."""
        counts = self._store.refused_counts().items()
        return sum(count for (name, _), count in counts if name == task)

    def recall(self, federation: Federation) -> PublishedRow | None:
        """What is published, by this worker, an earlier one or another."""
        shown = self._store.published(federation.key, "subspace")
        known = self.latest.get(federation.name)
        if shown is None or not shown.body:  # there is none yet, or nobody is left
            self.latest.pop(federation.name, None)
        elif known is None or known.version != shown.version:
            self.latest[federation.name] = decode(shown.body, Subspace)
        return shown

    def failed(self, job: Estimation) -> None:
        """Note, inside an `except`, that an estimate failed.

        It is not tried again before the totals change.
        """
        name = job.federation.name
        self._failed[name] = job.change
        log.exception("task %r: the estimate from %d devices failed", name, job.devices)

    def publish(self, job: Estimation, result: Estimated | None, now: float) -> list[Publication]:
        """Store a finished estimate and return it, unless another worker has a newer one."""
        federation = job.federation
        if federation.task.aggregation == TRIMMED:
            self._pause[federation.name] = min(10.0 * (now - job.at), LONGEST_PAUSE_SECONDS)
        row = self._put(job, result, now)
        if row is None:
            return []
        self._told[federation.name] = (row.change, job.reports)
        self.recall(federation)
        log.info(
            "task %r: subspace version %d from %d devices",
            federation.name,
            row.version,
            job.devices,
        )
        return [federation.show("subspace", row)]

    def _put(self, job: Estimation, result: Estimated | None, now: float) -> PublishedRow | None:
        """Store an estimate under the next version; None if there is a newer one."""
        with self._store.transaction():
            shown = self.recall(job.federation)
            if shown is not None and shown.change >= job.change:
                return None
            version = shown.version + 1 if shown else 1
            # Without any report left there is no subspace: an empty message clears what is
            # retained.
            body = b""
            if result is not None:
                made = replace(result.subspace, version=version)
                before = self.latest.get(job.federation.name)
                if result.followed is not None:
                    made = with_movement(job.federation.task, made, before)
                body = messages.encode(made)
                grown = _grown(made, before, result, now)
                self._store.put_version(job.federation.key, grown)
            row = PublishedRow(body=body, version=version, change=job.change, at=now)
            self._store.put_published(job.federation.key, "subspace", row)
        return row


def _grown(made: Subspace, before: Subspace | None, result: Estimated, now: float) -> VersionRow:
    """What the history keeps of a version."""
    foreseen = result.forecast
    followed = result.followed
    turned = None if before is None else float(subspace.angles(before.basis, made.basis).max())
    return VersionRow(
        version=made.version,
        at=now,
        devices=made.devices,
        records=made.records,
        dimension=made.dimension,
        expected_error=made.expected_error,
        expected_accuracy=made.expected_accuracy,
        angle=turned,
        forecast_error=foreseen.expected_error if foreseen else None,
        forecast_accuracy=foreseen.expected_accuracy if foreseen else None,
        round=followed.round if followed else None,
        moved=made.moved,
        drift=followed.drift if followed else None,
    )
