"""Random sequences of what happens to an aggregator leave the same bits in each store."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from aggregator.core import Aggregator
from aggregator.merging import readmit
from aggregator.publication import Publication
from aggregator.rounds.recount import agrees
from aggregator.store.base import Store
from aggregator.store.opening import open_store
from tests.aggregator.federations import make_task, report, screening_task, topic
from tests.postgres import Cluster

PLAIN = make_task(p=3, records=60)
TASKS = (PLAIN, screening_task(quorum=6))
STEPS = 60


def take(aggregator: Aggregator, rng: random.Random, now: float) -> list[Publication]:
    for _ in range(rng.randint(1, 8)):
        device = f"d{rng.randint(0, 40)}"
        task = rng.choice(TASKS)
        raw = report(task, device, rng.randint(0, 1))
        aggregator.take(topic(task, device), raw if rng.random() < 0.9 else raw[:-3])
    return aggregator.commit(now)


def withdraw(aggregator: Aggregator, rng: random.Random, now: float) -> list[Publication]:
    aggregator.withdraw(f"d{rng.randint(0, 40)}", now)
    return aggregator.tick(now)


def let_in(aggregator: Aggregator, rng: random.Random, now: float) -> list[Publication]:
    device = f"d{rng.randint(0, 40)}"
    for federation in aggregator.federations.values():
        readmit(aggregator.store, federation, device)
    return aggregator.tick(now)


def estimate(aggregator: Aggregator, rng: random.Random, now: float) -> list[Publication]:
    return aggregator.estimate(now)


ACTIONS: list[Callable[[Aggregator, random.Random, float], list[Publication]]] = [
    take,
    take,
    take,
    withdraw,
    let_in,
    estimate,
]


def play(address: str, seed: int) -> tuple[list[Publication], Store]:
    """All that is published, and the store."""
    rng = random.Random(seed)
    store = open_store(address)
    store.join("worker")
    aggregator = Aggregator(store, TASKS, debounce=0.0)
    heard = aggregator.start(0.0)
    for step in range(STEPS):
        heard += rng.choice(ACTIONS)(aggregator, rng, float(step))
    for federation in aggregator.federations.values():
        assert all(agrees(store, federation, stage) for stage in federation.layouts)
    return heard, store


@pytest.mark.parametrize("seed", range(4))
def test_the_same_is_published_and_added_up(tmp_path: Path, postgres: Cluster, seed: int) -> None:
    heard, store = play(f"sqlite:{tmp_path / 's.db'}", seed)
    elsewhere, other = play(postgres.fresh(), seed)
    assert [p for p in heard if p.qos == 0] == [p for p in elsewhere if p.qos == 0]  # receipts
    told = [{p.topic: p.payload for p in each if p.qos} for each in (heard, elsewhere)]
    assert told[0] == told[1]
    assert any(name.endswith("/subspace") for name in told[0])
    for key in (1, 2):
        for stage in ("screening", "final"):
            assert store.totals(key, stage) == other.totals(key, stage)
        assert store.versions(key, 100) == other.versions(key, 100)
        assert store.withdrawn(key) == other.withdrawn(key)
    assert store.refused_counts() == other.refused_counts()
    store.close()
    other.close()
