"""A subspace that follows its federation over rounds: what it is made from, how far it has moved.

Of the store only totals and patterns are read: a row for each round, and one for each set of rounds
that some device has. It does not matter how many reports they are made of.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from aggregator.federation import Federation
from aggregator.results.opened import series
from aggregator.rounds.sets import rounds_of
from aggregator.store.base import Store
from fsir.estimate.rounds.history import History
from fsir.estimate.rounds.memory import remember
from fsir.estimate.subspace import projection_loss
from fsir.estimate.totals import Totals
from fsir.privacy.plan import FINAL
from fsir.task.task import SECURE, Task
from fsir.wire.messages import Subspace


@dataclass(frozen=True, eq=False)
class Followed:
    """The totals that the memory of a task leaves, and what their rounds tell."""

    totals: Totals
    round: int  # the newest
    since: int  # the first that is used
    drift: int | None  # since when something has changed, as far as noise does not explain it

    @property
    def notes(self) -> tuple[str, ...]:
        """What whoever uses the estimate should know."""
        if self.drift is None:
            return ()
        kept = "" if self.since >= self.drift else "; the memory of the task keeps earlier ones"
        return (f"the federation has drifted since about round {self.drift}{kept}",)


def follow(store: Store, federation: Federation) -> Followed:
    """What all rounds amount to.

    Call it where the store stands still: in a transaction or on a snapshot.
    """
    history = history_of(store, federation)
    found = remember(federation.task, history)
    if federation.task.aggregation == SECURE:
        found.totals.devices = _devices(store, federation, found.weights)
    drift = None if found.drift is None else found.drift.since
    return Followed(found.totals, history.last, found.since, drift)


def history_of(store: Store, federation: Federation) -> History:
    """What was counted, round by round; rounds that nobody is left in do not matter."""
    history = History(federation.layouts[FINAL].stage)
    for row in store.rounds(federation.key, FINAL):
        if row.devices:
            values = store.totals(federation.key, FINAL, row.round).values
            history.sums[row.round] = np.frombuffer(values, "<i8").astype(np.int64)
            history.records[row.round] = row.records
    patterns = store.patterns(federation.key, FINAL)
    history.patterns = {rounds_of(text): devices for text, devices in patterns.items()}
    if federation.task.aggregation == SECURE:  # noise of nobody's device is in the sums, too
        history.patterns = dict(Counter(history.patterns) + Counter(series(store, federation)))
    return history


def _devices(store: Store, federation: Federation, weights: Mapping[int, float]) -> int:
    """Devices alone, of those whose noise a history knows."""
    patterns = store.patterns(federation.key, FINAL)
    return sum(count for text, count in patterns.items() if set(rounds_of(text)) & set(weights))


def with_movement(task: Task, made: Subspace, before: Subspace | None) -> Subspace:
    """A version that says how far it has moved from the one before, where that is known."""
    return made if before is None else replace(made, moved=_moved(task, made, before))


def _moved(task: Task, made: Subspace, before: Subspace) -> float | None:
    """The distance of two versions over the expected error of the new one.

    Two estimates that share nothing lie about sqrt(2) of it apart if nothing has changed. Under a
    public map the expected error is counted in other units, and nothing is said.
    """
    unknown = task.public is not None or before.features != made.features
    if unknown or not 0.0 < made.expected_error < math.inf:
        return None
    return projection_loss(before.basis, made.basis) / made.expected_error
