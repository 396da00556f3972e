"""Whether something has changed: the newer rounds of a window against its older ones.

Under "nothing has changed" the difference of their slice sums per record has a known law
(`fsir.estimate.rounds.law`). Windows of last rounds grow until the older part of one contradicts
its newer part (Lepski 1991): then the newer part is what still holds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fsir.estimate.rounds.history import Covariance, History
from fsir.estimate.rounds.law import Law
from fsir.estimate.totals import Totals
from fsir.task.task import Task

FALSE_NOTES = 1e-3  # the chance of one or more in all rounds of a task where nothing changes
_FEWEST = 3  # rounds: with two, the only difference is also all that tells how rounds scatter
_CLOSE = 8  # windows up to so many rounds are all tried ...
_GROWTH = 1.25  # ... and longer ones each so many times as long as the one before


@dataclass(frozen=True)
class Drift:
    """A change that noise does not explain."""

    since: int  # the first round that is unlike those before it
    chance: float  # of so clear a note in all rounds of a task where nothing changes, at most


def find_drift(
    task: Task, history: History, covariance: Covariance, pooled: Totals
) -> Drift | None:
    """The last change that noise does not explain, if there is one.

    `pooled` are the totals of all rounds.
    """
    from scipy.stats import chi2  # only an aggregator comes here

    rounds = history.rounds
    if len(rounds) < _FEWEST:
        return None
    p = history.stage.p
    tests = _tests(task.rounds) * history.stage.slices
    surprising = float(chi2.isf(FALSE_NOTES / tests, p))
    law = Law(history, covariance, pooled)
    lengths = _lengths(len(rounds))
    for k, window in enumerate(lengths[1:], start=1):
        farthest = law.distances(lengths[:k], window).max(-1)
        best = int(np.argmax(farthest))
        if farthest[best] > surprising:
            chance = tests * float(chi2.sf(farthest[best], p))
            return Drift(rounds[-lengths[best]], chance)
    return None


def _lengths(rounds: int) -> list[int]:
    """Lengths of windows that are tried: all short ones, and long ones ever farther apart.

    >>> _lengths(20)
    [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 20]
    """
    lengths = list(range(1, min(rounds, _CLOSE) + 1))
    while lengths[-1] < rounds:
        lengths.append(min(int(_GROWTH * lengths[-1]), rounds))
    return lengths


def _tests(rounds: int) -> int:
    """Comparisons that are made at most in so many rounds, each with its windows and their ends."""
    windows = len(_lengths(rounds))
    return max(1, rounds * windows * (windows - 1) // 2)
