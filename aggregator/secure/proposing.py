"""When the leader proposes: once a cohort is there, or nothing more comes to it, then ever more
rarely until it is answered."""

from __future__ import annotations

import random
from collections.abc import Iterable

from aggregator.federation import Federation
from aggregator.publication import Publication
from aggregator.secure import leading
from aggregator.secure.cohorts import ripe
from aggregator.secure.gathering import Gathering
from aggregator.secure.seat import Seat, cohort_topic
from aggregator.store.base import Store
from aggregator.store.sealed import Pool
from fsir.net.backoff import Delays
from fsir.privacy.plan import SCREENING
from fsir.task.secure import LEADER
from fsir.wire.cohort import encode_cohort

FIRST_SECONDS = 1.0  # the helper may get the last report after us
LONGEST_SECONDS = 60.0


class Proposing:
    """Keeps in memory when each pending cohort is proposed again; the store has all the rest."""

    def __init__(
        self,
        store: Store,
        seat: Seat,
        delays: Delays | None = None,
        rng: random.Random | None = None,
        gathering: Gathering | None = None,
    ) -> None:
        self._gathering = gathering or Gathering()
        self._store = store
        self._seat = seat
        self._delays = delays or Delays(first=FIRST_SECONDS, longest=LONGEST_SECONDS)
        self._rng = rng or random.SystemRandom()
        # By task and pool: the cohort, how often it was proposed, and when it is next.
        self._sent: dict[tuple[str, Pool], tuple[int, int, float]] = {}

    def forget(self) -> None:
        """Propose everything that is pending again at once: a new connection was made."""
        self._sent.clear()

    def due(self, federations: Iterable[Federation], now: float) -> list[Publication]:
        """The proposals to be made now."""
        return [
            self._propose(federation, pool, now)
            for federation in federations
            for pool in self._pools(federation, now)
        ]

    def _pools(self, federation: Federation, now: float) -> list[Pool]:
        cohorts = self._store.last_cohorts(federation.key)
        pending = {pool: number for pool, (number, open_) in cohorts.items() if open_}
        fresh = [pool for pool in self._ripe(federation, now) if pool not in pending]
        again = [p for p, number in pending.items() if self._again(federation, p, number, now)]
        return fresh + again

    def _ripe(self, federation: Federation, now: float) -> list[Pool]:
        task = federation.task
        rule = task.screening
        late = False
        if rule is not None and rule.wait_seconds > 0.0 and federation.active is None:
            first = self._store.first_at(federation.key, SCREENING)
            late = first is not None and now >= first + rule.wait_seconds
        waiting = self._store.waiting_shares(federation.key)
        pools = ripe(
            task,
            waiting,
            screened=self._store.totals(federation.key, SCREENING).devices,
            late=late,
            chosen=federation.active is not None,
        )
        name = federation.name
        return [p for p in pools if self._gathering.is_over(name, p, waiting[p], now)]

    def _again(self, federation: Federation, pool: Pool, number: int, now: float) -> bool:
        last, _, when = self._sent.get((federation.name, pool), (0, 0, 0.0))
        # A clock that was set back must not stop us.
        return last != number or now >= when or now < when - 2.0 * self._delays.longest

    def _propose(self, federation: Federation, pool: Pool, now: float) -> Publication:
        with self._store.transaction():
            proposal = leading.propose(self._store, federation, pool, now)
        number = proposal.heading.number
        last, attempt, _ = self._sent.get((federation.name, pool), (0, 0, 0.0))
        attempt = attempt if last == number else 0
        when = now + self._delays.after(attempt, self._rng)
        self._sent[federation.name, pool] = (number, attempt + 1, when)
        raw = encode_cohort(proposal, self._seat.pair.sign)
        return Publication(cohort_topic(federation.task, LEADER), raw, retain=False)
