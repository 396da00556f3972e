"""Are published votes those that noisy sums would give?

Votes are 0 or 1, and their law has no formula: the audit draws them itself, many times, from noisy
sums of its own, and compares how often each vote falls, and how often a slice has none at all. Two
samples of the same law differ by Fisher's exact test.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from fsir.arrays import Flags
from fsir.task.task import Task
from sim_devices.audit.finding import RISK
from sim_devices.audit.shipped.reference import Expected
from sim_devices.audit.shipped.scores import Side

DRAWS = 20_000


def odd_votes(task: Task, first: Side, second: Side, rng: np.random.Generator) -> list[str]:
    """What contradicts lemma 6, in words; empty if nothing does."""
    faults: list[str] = []
    for side in (first, second):
        published = side.votes()
        if published is None:
            return []
        law = side.laws[side.runs[0][0].stage]
        faults += _compared(law, published, drawn(task, law, rng), RISK / 2)
    return faults


def drawn(task: Task, law: Expected, rng: np.random.Generator, count: int = DRAWS) -> Flags:
    """Votes of `count` devices with these records, one row each: from noisy sums and counts."""
    stage = law.stage
    threshold = 0.0 if task.screening is None else task.screening.threshold
    exact = law.mean + law.sd * rng.standard_normal((count, len(law.mean)))
    noisy = np.rint(exact / law.worth) * law.worth
    sums = noisy[:, stage.spans[0]].reshape(count, stage.p, stage.slices)
    counts = noisy[:, stage.spans[1]][:, None, :]
    n = law.mean[stage.spans[1]].sum()
    overall = sums.sum(axis=2, keepdims=True) / n
    away = np.abs(sums / np.maximum(counts, 1.0) - overall)
    filled = counts > 2.0 * law.sd[stage.spans[1]]
    return np.asarray((filled & (away > threshold)).reshape(count, -1))


def _compared(law: Expected, published: Flags, own: Flags, risk: float) -> list[str]:
    events = [_events(law, votes) for votes in (published, own)]
    names = [f"vote {k}" for k in range(published.shape[1])]
    names += [f"slice {h} without a vote" for h in range(law.stage.slices)]
    faults = []
    for k, name in enumerate(names):
        seen, wanted = (int(event[:, k].sum()) for event in events)
        chance = _fisher(seen, len(published), wanted, len(own))
        if chance < risk / len(names):
            share = f"{seen / len(published):.3g} of the runs instead of {wanted / len(own):.3g}"
            faults.append(f"{name} of the screening report: in {share} (by chance: {chance:.0e})")
    return faults


def _events(law: Expected, votes: Flags) -> Flags:
    """The votes, and for each slice whether it has none."""
    by_slice = votes.reshape(len(votes), law.stage.p, law.stage.slices)
    return np.hstack([votes, ~by_slice.any(axis=1)])


def _fisher(seen: int, runs: int, wanted: int, draws: int) -> float:
    """The probability of counts as different as these, if both samples have the same law."""
    test = stats.hypergeom(runs + draws, seen + wanted, runs)
    return float(max(1e-300, min(1.0, 2.0 * min(test.cdf(seen), test.sf(seen - 1)))))
