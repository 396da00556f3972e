"""One of two aggregators without a network: it is called as `aggregator.core.Aggregator` is.

Besides reports it takes what the other aggregator says. The leader proposes cohorts with every
`tick`, and from the sums that are opened it makes active set and estimate as ever; the helper
answers, learns the active set from its topic, and publishes nothing but receipts and answers.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Sequence
from contextlib import AbstractContextManager

from aggregator import merging, retained
from aggregator.core import Aggregator
from aggregator.federation import Federation
from aggregator.intake import Arrival
from aggregator.publication import Publication
from aggregator.reasons import Refusal
from aggregator.results.emission import Emission
from aggregator.results.estimates import Estimation
from aggregator.secure import counting, intake, withdrawal
from aggregator.secure.gathering import Gathering
from aggregator.secure.hearing import Hearing
from aggregator.secure.proposing import Proposing
from aggregator.secure.seat import Seat, cohort_topic
from aggregator.store.base import Store
from aggregator.store.rows import PublishedRow
from fsir.errors import MessageError, TaskError
from fsir.net.backoff import Delays
from fsir.privacy.noise import Noise, SystemNoise
from fsir.task.secure import LEADER
from fsir.task.task import Task
from fsir.wire.messages import topic

log = logging.getLogger("fsir.aggregator")


class SecureAggregator(Aggregator):
    """Leader or helper; see the module's docstring. Only tests and simulations give a `noise`.

    The leader opens a sum once nothing has come for `wait` seconds.
    """

    def __init__(
        self,
        store: Store,
        tasks: Sequence[Task],
        seat: Seat,
        *,
        debounce: float = 2.0,
        expected: int | None = None,
        emission: Emission | None = None,
        noise: Noise | None = None,
        delays: Delays | None = None,
        rng: random.Random | None = None,
        wait: float = 0.0,
    ) -> None:
        super().__init__(store, tasks, debounce=debounce, expected=expected, emission=emission)
        self._seat = seat
        for federation in self.federations.values():
            seat.check(federation.task)
            federation.by = seat.role
        self._hearing = Hearing(store, seat, SystemNoise() if noise is None else noise)
        self._proposing = Proposing(store, seat, delays, rng, Gathering(wait))
        self._spoken = {
            cohort_topic(each.task, seat.other): each for each in self.federations.values()
        }
        self._actives = {topic(name, "active"): each for name, each in self.federations.items()}

    @property
    def _leads(self) -> bool:
        return self._seat.role == LEADER

    def topics(self, share: str | None = None) -> list[str]:
        """What to subscribe to; what the other aggregator says, every worker hears."""
        names = super().topics(share)
        if self._leads:
            return names + list(self._spoken)
        screened = [name for name, each in self._actives.items() if each.task.screening]
        return names + screened + list(self._spoken)

    def start(self, now: float) -> list[Publication]:
        """As ever; and whatever is pending is proposed again at once."""
        self._proposing.forget()
        return super().start(now)

    def _register(self, federation: Federation, now: float) -> list[Publication]:
        if self._leads:
            return super()._register(federation, now)
        retained.register(self.store, federation, now)
        self.activating.notice(federation)
        return []

    # --- what comes in --------------------------------------------------------------------------

    def _commit(self, arrivals: list[Arrival], now: float) -> list[Publication]:
        reports = []
        spoken = []
        for arrival in arrivals:
            if arrival.topic in self._spoken:
                spoken.append(arrival)
            elif arrival.topic in self._actives and not self._leads:
                self._take_active(arrival, now)  # first: final reports need it
            else:
                reports.append(arrival)
        publications = super()._commit(reports, now) if reports else []
        for arrival in spoken:
            publications += self._hear(arrival, now)
        return publications

    def _together(self) -> AbstractContextManager[None]:
        return self.store.transaction()

    def _read(self, reports: Sequence[Arrival]) -> None:
        intake.read(reports, self.federations.values(), self._seat)

    def _count(
        self, federation: Federation, reports: Sequence[Arrival], now: float
    ) -> list[Publication]:
        return counting.count(self.store, federation, reports, now)

    def _take_active(self, arrival: Arrival, now: float) -> None:
        """Pin the first active set of a task that the leader publishes."""
        federation = self._actives[arrival.topic]
        if not arrival.raw:
            return
        try:
            federation.layout_of(arrival.raw)
        except (MessageError, TaskError) as error:  # of an earlier edition, or not the leader's
            log.warning("task %r: an active set is not taken: %s", federation.name, error)
            return
        row = PublishedRow(body=arrival.raw, version=1, change=0, at=now)
        with self.store.transaction():
            # Inside: another worker of ours may have taken one meanwhile.
            if self.store.published(federation.key, "active") is None:
                self.store.put_published(federation.key, "active", row)
        self.activating.notice(federation)  # only now: what was rolled back is not pinned

    def _hear(self, arrival: Arrival, now: float) -> list[Publication]:
        """What the other aggregator says, and our answer."""
        federation = self._spoken[arrival.topic]
        publications: list[Publication] = []
        chosen: PublishedRow | None = None
        with self.store.transaction():
            if arrival.refusal is None:
                heard = self._hearing.hear(federation, arrival.raw, now)
                if isinstance(heard, Refusal):
                    arrival.refusal = heard
                else:
                    publications += heard
                    chosen = self.activating.activate(federation, now)
            if arrival.refusal is not None:
                log.warning("task %r: %s", federation.name, arrival.refusal.text)
                self.verdicts[federation.name, arrival.refusal.reason] += 1
                arrival.federation = federation
                merging.quarantine(self.store, [arrival], now)
        return publications + ([federation.show("active", chosen)] if chosen else [])

    # --- what is due by time --------------------------------------------------------------------

    def tick(self, now: float) -> list[Publication]:
        """What is due by time alone; of the leader also what it proposes."""
        if self._leads:
            proposed = self._proposing.due(self.federations.values(), now)
            return super().tick(now) + proposed
        return [p for each in self.federations.values() for p in self.telling.due(each)]

    def jobs(self, now: float) -> list[Estimation]:
        """The estimates that are due: the leader's."""
        return super().jobs(now) if self._leads else []

    def withdraw(self, device: str, now: float) -> int:
        """Take a device out of all tasks, as far as nothing of it was opened."""
        return sum(
            withdrawal.withdraw(self.store, federation, device, now)
            for federation in self.federations.values()
        )
