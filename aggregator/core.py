"""The aggregator without a network: it takes messages and a store, and returns what to publish.

    store = open_store("sqlite:fsir.db")
    aggregator = Aggregator(store, [load_task("task.toml")])
    publish(aggregator.start(now))         # on every connection: task, active set, subspace ...
    publish(aggregator.receipts())         # ... and, until none is left, receipts of version 1
    aggregator.take(topic, payload)        # a report or an ask, in memory only
    publish(aggregator.commit(now))        # all that were taken, in one durable transaction: now
                                           # acknowledge them
    publish(aggregator.tick(now))          # the active set, if it is due by time
    publish(aggregator.estimate(now))      # the updated subspace, at most every `debounce` seconds
    aggregator.withdraw("device-7", now)   # takes a device out; the next estimate is without it

`now` is the time in seconds since 1970. What all devices need is retained. `commit` raises
`StoreBusyError` when the store cannot be written (disk full): nothing was acknowledged or lost,
call it again later. Whatever a message holds, `take` and `commit` never raise because of it: it
goes to quarantine, and its sender gets a receipt with the reason. Several aggregators, also in
different processes, may share one store.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager

from aggregator import asking, intake, merging, retained
from aggregator.federation import Federation, as_begun
from aggregator.intake import REFUSED, Arrival
from aggregator.publication import Publication
from aggregator.reasons import Refusal
from aggregator.results.activation import Activating
from aggregator.results.emission import Emission
from aggregator.results.estimates import Estimating, Estimation
from aggregator.results.repeating import Repeating
from aggregator.results.telling import Telling
from aggregator.store.base import Store
from aggregator.store.errors import StoreBusyError, StoreError
from fsir.errors import AccumulatorError
from fsir.privacy.plan import FINAL
from fsir.task.task import Task
from fsir.wire.messages import topic

log = logging.getLogger("fsir.aggregator")


class Aggregator:
    """Counts reports once, keeps the active set and the subspace; see the module's docstring."""

    def __init__(
        self,
        store: Store,
        tasks: Sequence[Task],
        *,
        debounce: float = 2.0,
        expected: int | None = None,
        emission: Emission | None = None,
    ) -> None:
        self.store = store
        # By (task, counted | duplicate | reason), since the start.
        self.verdicts: Counter[tuple[str, str]] = Counter()
        self.asks: Counter[tuple[str, str]] = Counter()  # by (task, answer), since the start
        self.federations = {task.name: Federation(as_begun(store, task)) for task in tasks}
        self.estimating = Estimating(store, debounce, expected, emission)
        self.activating = Activating(store)
        self.telling = Telling(store)
        self._repeating = Repeating(store, self.federations.values())
        if len(self.federations) < len(tasks):
            raise StoreError(
                f"tasks {[task.name for task in tasks]}: "
                "give each another name, topics are made of it"
            )
        self._waiting: list[Arrival] = []
        self._news = False  # another worker has published something, and it is not repeated yet

    def topics(self, share: str | None = None) -> list[str]:
        """What to subscribe to, alone or together with other workers."""
        federations = self.federations.values()
        names = [topic(federation.name, "report", "+") for federation in federations]
        names += [topic(f.name, "ask", "+") for f in federations if f.task.tells_copies_apart]
        return [f"$share/{share}/{name}" for name in names] if share else names

    # --- start ----------------------------------------------------------------------------------

    def start(self, now: float) -> list[Publication]:
        """Register the tasks; returns all that should be retained, except for the receipts."""
        publications = []
        with self.store.transaction():
            for federation in self.federations.values():
                publications += self._register(federation, now)
        self._repeating.start()
        return publications

    def _register(self, federation: Federation, now: float) -> list[Publication]:
        replaces = retained.register(self.store, federation, now)
        self.activating.notice(federation)
        self.estimating.recall(federation)
        return retained.at_start(self.store, federation, replaces)

    def receipts(self) -> list[Publication]:
        """Some more receipts of what had been counted at the start, where devices do not ask."""
        return self._repeating.due()

    # --- reports --------------------------------------------------------------------------------

    @property
    def waiting(self) -> int:
        """Messages taken and not yet committed."""
        return len(self._waiting)

    def take(self, place: str, payload: bytes) -> None:
        """Take a message of a topic; nothing is looked at, kept or promised before `commit`."""
        self._waiting.append(Arrival(topic=place, raw=payload))

    def drop(self) -> None:
        """Forget what was taken and not committed.

        After a lost connection the broker delivers it again.
        """
        self._waiting.clear()

    def commit(self, now: float) -> list[Publication]:
        """Count or refuse all that was taken, durably.

        Returns the receipts, and the active set if this completed it.
        """
        if not self._waiting:
            return []
        try:
            publications = self._commit(self._waiting, now)
        except StoreBusyError:
            raise
        except Exception:  # whatever one message does, the others are counted
            log.exception(
                "a batch of %d messages failed; trying them one by one", len(self._waiting)
            )
            publications = [
                p for arrival in self._waiting for p in self._commit_alone(arrival, now)
            ]
        self._waiting = []
        return publications

    def _commit_alone(self, arrival: Arrival, now: float) -> list[Publication]:
        """As it is, or else as a refusal, or else in quarantine, unanswered."""
        alone = Arrival(topic=arrival.topic, raw=arrival.raw)
        for _ in ("as it is", "as a refusal"):
            try:
                return self._commit([alone], now)
            except StoreBusyError:
                raise
            except Exception as error:  # see `commit`
                log.exception("the message on %r failed", arrival.topic[:200])
                reason = "full" if isinstance(error, AccumulatorError) else "internal error"
                alone.refusal = Refusal(reason, f"{type(error).__name__}: {error}")
                alone.status = REFUSED  # it may have been counted in what was rolled back
        self._set_aside(alone, now)
        return []

    def _set_aside(self, alone: Arrival, now: float) -> None:
        """Keep a message that can be neither counted nor answered: it is about to be acknowledged.

        Its device will send it again. What is written has nothing of the error's text: if even that
        fails, the store is at fault, and nothing is acknowledged.
        """
        alone.refusal = Refusal("internal error", "it could not be answered: see the log")
        try:
            with self.store.transaction():
                merging.quarantine(self.store, [alone], now)
        except StoreBusyError:
            raise
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"
            raise StoreBusyError(
                f"a message can be neither counted nor refused ({fault}); the log says more"
            ) from error
        self.verdicts[alone.name, alone.outcome] += 1
        log.error(
            "the message on %r is in quarantine, and its device was not answered",
            alone.topic[:200],
        )

    def _commit(self, arrivals: list[Arrival], now: float) -> list[Publication]:
        for federation in self.federations.values():
            self.activating.notice(federation)
        asks, reports = asking.apart(arrivals, self.federations.values())
        self._read(reports)
        publications: list[Publication] = []
        federations = sorted(self.federations.values(), key=lambda each: each.key)
        with self._together():
            for federation in federations:
                # First: the receipts below tell the numbers that hold from now on.
                publications += asking.answer(self.store, federation, asks)
                mine = [arrival for arrival in reports if arrival.federation is federation]
                if mine:
                    publications += self._count(federation, mine, now)
            merging.quarantine(self.store, arrivals, now)
        for federation in federations:
            publications += self._activate(federation, now)
        answered = [arrival for arrival in asks if arrival.refusal is None]
        judged = [arrival for arrival in asks if arrival.refusal is not None] + reports
        self.asks.update((arrival.name, arrival.outcome) for arrival in answered)
        self.verdicts.update((arrival.name, arrival.outcome) for arrival in judged)
        return publications

    def _together(self) -> AbstractContextManager[None]:
        """Beside other workers, where nothing is counted but sums; else alone."""
        federations = self.federations.values()
        if any(federation.follows(FINAL) for federation in federations):
            return self.store.transaction()
        return self.store.adding()

    def _activate(self, federation: Federation, now: float) -> list[Publication]:
        """The active set if it is due, chosen alone and by one worker."""
        try:
            if not self.activating.due(federation, now) or not self.store.leads(federation.key):
                return []
            with self.store.transaction():
                chosen = self.activating.activate(federation, now)
        except StoreBusyError as error:  # what was counted is counted: the next tick chooses
            log.error("the store cannot be written (%s); trying again", error)
            return []
        return [federation.show("active", chosen)] if chosen else []

    def _read(self, reports: Sequence[Arrival]) -> None:
        intake.read(reports, self.federations.values())

    def _count(
        self, federation: Federation, reports: Sequence[Arrival], now: float
    ) -> list[Publication]:
        return merging.count(self.store, federation, reports, now)

    # --- the active set and the subspace --------------------------------------------------------

    def tick(self, now: float) -> list[Publication]:
        """What is due by time alone.

        That is the active set of a federation that has waited long enough, repetitions, and the
        receipts of devices that were withdrawn or let in again since.
        """
        self._news = self.store.news() or self._news
        try:
            publications = [p for each in self.federations.values() for p in self._due(each, now)]
        except StoreBusyError:
            self._unsay()
            raise
        self._news = False
        return publications

    def _due(self, federation: Federation, now: float) -> list[Publication]:
        publications = self._activate(federation, now)
        if self._news:
            publications += retained.repeated(self.store, federation, now)
            self.estimating.recall(federation)
        return publications + self.telling.due(federation)

    def _unsay(self) -> None:
        """What was found before the store failed has not left: the next look finds it again."""
        self.telling.forget()
        for federation in self.federations.values():
            federation.shown.clear()

    def estimate(self, now: float) -> list[Publication]:
        """Re-estimate what has changed and return the new subspaces."""
        publications = []
        for job in self.jobs(now):
            try:
                result = job.run()
            except StoreBusyError as error:
                log.error("the store cannot be read (%s); trying again", error)
            except Exception:  # an estimate that fails must not stop the intake
                self.estimating.failed(job)
            else:
                publications += self.estimating.publish(job, result, now)
        return publications

    def jobs(self, now: float) -> list[Estimation]:
        """The estimates that are due.

        For a caller who runs them elsewhere and hands them to `estimating.publish`.
        """
        for federation in self.federations.values():
            self.activating.notice(federation)
        mine = [each for each in self.federations.values() if self.store.leads(each.key)]
        return self.estimating.due(mine, now)

    @property
    def complete(self) -> bool:
        """Whether all devices that are expected have reported under one of the tasks."""
        return any(map(self.estimating.complete, self.federations.values()))

    def withdraw(self, device: str, now: float) -> int:
        """Take a device out of all tasks; how many reports that were."""
        return sum(
            merging.withdraw(self.store, federation, device, now)
            for federation in self.federations.values()
        )
