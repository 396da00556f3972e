"""The aggregator without a network: it takes messages and a store, and returns what to publish.

    store = open_store("sqlite:fsir.db")
    aggregator = Aggregator(store, [load_task("task.toml")])
    publish(aggregator.start(now))           # on every connection: task, active set, subspace ...
    publish(aggregator.receipts())           # ... and, again and again until there are none, receipts
    aggregator.take(topic, payload)          # a report, in memory only
    publish(aggregator.commit(now))          # all that were taken, in one durable transaction: now acknowledge them
    publish(aggregator.tick(now))            # the active set, if it is due by time
    publish(aggregator.estimate(now))        # the updated subspace, at most every `debounce` seconds
    aggregator.withdraw("device-7", now)     # takes a device out again; the next estimate is without it

`now` is the time in seconds since 1970. All publications are retained. `commit` raises `StoreBusyError` when the store
cannot be written (disk full): nothing was acknowledged or lost, call it again later. Whatever a message holds, `take`
and `commit` never raise because of it: it goes to quarantine, and its sender gets a receipt with the reason. Several
aggregators, also in different processes, may share one store.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence

from aggregator import intake
from aggregator import merging as counting
from aggregator.estimates import Estimating, Estimation
from aggregator.federation import Federation
from aggregator.gathering import gather
from aggregator.intake import Arrival
from aggregator.mqtt.publication import Publication
from aggregator.reasons import Refusal
from aggregator.store.base import PublishedRow, RefusedRow, Store, StoreBusyError, StoreError
from fsir.errors import AccumulatorError
from fsir.privacy.plan import SCREENING
from fsir.task.task import TRIMMED, Task
from fsir.wire import messages

LOG = logging.getLogger("fsir.aggregator")
RECEIPTS = 1000  # repeated at a time: the intake must not wait for those of a large fleet
REPEAT_SECONDS = 30.0  # after which a worker repeats what is retained and was another's to publish

__all__ = ["Aggregator", "Estimation", "Publication"]


class Aggregator:
    """Counts reports once, keeps the active set and the subspace; see the module's docstring."""

    def __init__(self, store: Store, tasks: Sequence[Task], *, debounce: float = 2.0) -> None:
        self.store = store
        self.verdicts: Counter[tuple[str, str]] = (
            Counter()
        )  # (task, counted | duplicate | reason), since the start
        self.federations = {task.name: Federation(task) for task in tasks}
        self.estimating = Estimating(store, debounce)
        if len(self.federations) < len(tasks):
            raise StoreError(
                f"tasks {[task.name for task in tasks]}: give each another name, topics are made of it"
            )
        self._waiting: list[Arrival] = []
        self._before = 0  # reports with smaller numbers have their receipts to be repeated

    # --- start ----------------------------------------------------------------------------------------------------

    def start(self, now: float) -> list[Publication]:
        """Register the tasks; return everything that should be retained, except for the receipts."""
        publications = []
        with self.store.transaction():
            for federation in self.federations.values():
                publications += self._register(federation, now)
        newest = self.store.counted(1)
        self._before = newest[0][0] + 1 if newest else 0
        return publications

    def receipts(self) -> list[Publication]:
        """Some more receipts of what had been counted at the start, the newest first.

        A crash may have held them back. And a broker that has lost what it retained must have them again, because they
        stop a device whose state was restored from before its report.
        """
        rows = self.store.counted(RECEIPTS, self._before) if self._before else []
        self._before = rows[-1][0] if rows else 0
        publications = []
        for federation in self.federations.values():
            devices = list(
                dict.fromkeys(device for _, key, device in rows if key == federation.key)
            )
            known, barred = (
                self.store.lookup(federation.key, devices),
                self.store.withdrawn(federation.key, devices),
            )
            publications += [
                counting.receipt(federation, device, known, {}, federation.digest)
                for device in devices
                if device not in barred
            ]
        return publications

    def _register(self, federation: Federation, now: float) -> list[Publication]:
        task = federation.task
        editions = [
            row
            for row in self.store.tasks()
            if row.name == task.name and row.digest != federation.digest
        ]
        newest = max((row.epoch for row in editions), default=0)
        if newest >= task.epoch:
            raise StoreError(
                f"task {task.name!r}, epoch {task.epoch}: the store holds another edition with epoch {newest}; "
                f"a changed task is another task: give it epoch {newest + 1} or a new name"
            )
        federation.key = self.store.add_task(
            federation.digest, task.name, task.epoch, federation.body, now
        )
        self._notice_active(federation)
        self.estimating.recall(federation)
        publications = [Publication(messages.topic(federation.name, "task"), federation.body)]
        for kind in ("active", "subspace"):
            row = self.store.published(federation.key, kind)
            if row is not None:
                federation.shown[kind] = row
            if (
                row is not None or editions
            ):  # an empty message clears what an earlier edition has left
                publications.append(
                    Publication(messages.topic(federation.name, kind), row.body if row else b"")
                )
        return publications

    def _notice_active(self, federation: Federation) -> None:
        if federation.active is None and federation.task.screening is not None:
            row = self.store.published(federation.key, "active")
            if row is not None:
                federation.pin(row.body)

    # --- reports --------------------------------------------------------------------------------------------------

    @property
    def waiting(self) -> int:
        """Messages taken and not yet committed."""
        return len(self._waiting)

    def take(self, topic: str, payload: bytes) -> None:
        """Take a message; nothing is looked at, kept or promised before `commit`."""
        self._waiting.append(Arrival(topic, payload))

    def drop(self) -> None:
        """Forget what was taken and not committed: after a lost connection the broker delivers it again."""
        self._waiting.clear()

    def commit(self, now: float) -> list[Publication]:
        """Count or refuse all that was taken, durably; return the receipts, and the active set if this completed it."""
        if not self._waiting:
            return []
        try:
            publications = self._commit(self._waiting, now)
        except StoreBusyError:
            raise
        except Exception:  # whatever one message does, the others are counted
            LOG.exception(
                "a batch of %d messages failed; trying them one by one", len(self._waiting)
            )
            publications = [
                p for arrival in self._waiting for p in self._commit_alone(arrival, now)
            ]
        self._waiting = []
        return publications

    def _commit_alone(self, arrival: Arrival, now: float) -> list[Publication]:
        alone = Arrival(arrival.topic, arrival.raw)
        for _ in ("as it is", "as a refusal"):
            try:
                return self._commit([alone], now)
            except StoreBusyError:
                raise
            except Exception as error:  # see `commit`
                LOG.exception("the message on %r failed", arrival.topic[:200])
                reason = "full" if isinstance(error, AccumulatorError) else "internal error"
                alone.refusal = Refusal(reason, f"{type(error).__name__}: {error}")
        return []

    def _commit(self, arrivals: list[Arrival], now: float) -> list[Publication]:
        for federation in self.federations.values():
            self._notice_active(federation)
        intake.read(arrivals, self.federations.values())
        publications: list[Publication] = []
        with self.store.transaction():
            for federation in self.federations.values():
                mine = [arrival for arrival in arrivals if arrival.federation is federation]
                if mine:
                    publications += counting.count(self.store, federation, mine, now)
                    publications += self._activate(federation, now)
            refused = [arrival for arrival in arrivals if arrival.refusal is not None]
            if refused:
                self.store.refuse([_refused(arrival, now) for arrival in refused])
        self.verdicts.update((arrival.name, arrival.outcome) for arrival in arrivals)
        return publications

    # --- the active set -------------------------------------------------------------------------------------------

    def tick(self, now: float) -> list[Publication]:
        """What is due by time alone: the active set of a federation that has waited long enough, and repetitions."""
        publications = []
        for federation in self.federations.values():
            if self._due(federation, now):
                with self.store.transaction():
                    publications += self._activate(federation, now)
            publications += self._repeat(federation, now)
        return publications

    def _repeat(self, federation: Federation, now: float) -> list[Publication]:
        """What another worker has stored: it may have ended before it published it, or we have published after it."""
        publications = []
        for kind in ("active", "subspace"):
            row = self.store.published(federation.key, kind)
            if (
                row is not None
                and row != federation.shown.get(kind)
                and not 0.0 <= now - row.at < REPEAT_SECONDS
            ):
                federation.shown[kind] = row
                publications.append(Publication(messages.topic(federation.name, kind), row.body))
        return publications

    def _due(self, federation: Federation, now: float) -> bool:
        """Whether the rule for publishing the active set is met."""
        rule = federation.task.screening
        if rule is None or federation.active is not None:
            return False
        devices = self.store.totals(federation.key, SCREENING).devices
        if devices >= rule.quorum or devices == 0 or rule.wait_seconds <= 0.0:
            return devices >= rule.quorum
        first = self.store.first_at(federation.key, SCREENING)
        return first is not None and now >= first + rule.wait_seconds

    def _activate(self, federation: Federation, now: float) -> list[Publication]:
        """Inside a transaction: choose the active set if its rule is met, once and for all."""
        # Another worker may have been faster. Ours is pinned only by reading it back after the commit.
        if (
            not self._due(federation, now)
            or self.store.published(federation.key, "active") is not None
        ):
            return []
        row = self.store.totals(federation.key, SCREENING)
        if row.devices < 1.125 * federation.fruitless:
            return []  # opening all reports again with every batch would slow the intake down
        votes = federation.layouts[SCREENING].votes
        chosen = federation.choose(
            row, None if votes else gather(self.store, federation, SCREENING)
        )
        if chosen is None:
            federation.fruitless = row.devices if federation.task.aggregation == TRIMMED else 0
            LOG.warning(
                "task %r: no feature stands out among %d screening reports",
                federation.name,
                row.devices,
            )
            return []
        body = messages.encode(chosen)
        federation.shown["active"] = PublishedRow(body, 1, row.change, now)
        self.store.put_published(federation.key, "active", federation.shown["active"])
        LOG.info(
            "task %r: %d active features from %d devices",
            federation.name,
            len(chosen.features),
            row.devices,
        )
        return [Publication(messages.topic(federation.name, "active"), body)]

    # --- the subspace ---------------------------------------------------------------------------------------------

    def estimate(self, now: float, *, force: bool = False) -> list[Publication]:
        """Re-estimate what has changed and return the new subspaces."""
        publications = []
        for job in self.jobs(now, force=force):
            try:
                result = job.run()
            except StoreBusyError as error:
                LOG.error("the store cannot be read (%s); trying again", error)
            except Exception:  # an estimate that fails must not stop the intake
                self.estimating.failed(job)
            else:
                publications += self.estimating.publish(job, result, now)
        return publications

    def jobs(self, now: float, *, force: bool = False) -> list[Estimation]:
        """The estimates that are due, for a caller who runs them elsewhere and hands them to `estimating.publish`."""
        for federation in self.federations.values():
            self._notice_active(federation)
        return self.estimating.due(self.federations.values(), now, force=force)

    def withdraw(self, device: str, now: float) -> int:
        """Take a device out of all tasks, for good; how many reports that were."""
        return sum(
            counting.withdraw(self.store, federation, device, now)
            for federation in self.federations.values()
        )


def _refused(arrival: Arrival, now: float) -> RefusedRow:
    refusal = arrival.refusal
    assert refusal is not None
    return RefusedRow(
        arrival.name,
        arrival.device,
        arrival.stage,
        arrival.id,
        refusal.reason,
        refusal.text,
        len(arrival.raw),
        b"" if arrival.barred else arrival.raw,
        now,
    )
