"""How long an estimate takes after a year of weekly rounds, against that of a single round.

1,000 devices, p = 10 and eight slices, once with one report each and once with up to 52; each
device skips a tenth of its rounds, so that no two have the same ones. The noise here is drawn
afresh for each round, which changes no time.
"""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path
from statistics import median

from aggregator.core import Aggregator
from aggregator.results.estimates import Estimation
from aggregator.store.sqlite import SqliteStore
from benchmarks.intake import low_dimensional, reports
from fsir.privacy.plan import FINAL

DEVICES = 1_000
ROUNDS = 52
SKIPPED = 0.1
REPEATS = 15
BARS = {"estimate, 52 rounds / 1 round": "<= 1.5"}


def run() -> dict[str, float]:
    """An estimate from one round and from all of them, and reading every report once."""
    with tempfile.TemporaryDirectory() as folder:
        few = _filled(Path(folder) / "one.db", 1)
        many = _filled(Path(folder) / "many.db", ROUNDS)
        # In turn, so that whatever else the machine does meets both.
        pairs = [(_seconds(few), _seconds(many)) for _ in range(REPEATS)]
        one, all_rounds = map(median, zip(*pairs, strict=True))
        read = _reading(many)
    return {
        "seconds for an estimate, 1,000 devices x 1 round": one,
        "seconds for an estimate, 1,000 devices x 52 rounds": all_rounds,
        "estimate, 52 rounds / 1 round": all_rounds / one,
        "estimate, 52 rounds / reading every report once": all_rounds / read,
    }


def _filled(path: Path, rounds: int) -> Aggregator:
    task = low_dimensional(rounds)
    aggregator = Aggregator(SqliteStore(path), [task])
    aggregator.start(0.0)
    rng = random.Random(1)
    for round in range(1, rounds + 1):
        for about, raw in reports(task, DEVICES, seed=round, round=round):
            if rounds == 1 or rng.random() >= SKIPPED:
                aggregator.take(about, raw)
        aggregator.commit(float(round))
    return aggregator


def _seconds(aggregator: Aggregator) -> float:
    """One estimate from what is stored, in the time of this process alone."""
    (federation,) = aggregator.federations.values()
    job = Estimation(
        store=aggregator.store,
        federation=federation,
        totals=None,
        devices=DEVICES,
        change=1,
        refused=0,
        at=0.0,
    )
    start = time.process_time()
    job.run()
    return time.process_time() - start


def _reading(aggregator: Aggregator) -> float:
    start = time.process_time()
    for _ in aggregator.store.reports(1, FINAL):
        pass
    return time.process_time() - start
