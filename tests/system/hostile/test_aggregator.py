"""Hostile messages on all topics that the aggregator reads: none is merged, each has its reason."""

from __future__ import annotations

import random

from aggregator.core import Aggregator
from aggregator.reasons import REASONS
from aggregator.rounds.recount import recount
from aggregator.store.sqlite import SqliteStore
from aggregator.store.tables.quarantine import QUARANTINE_ROWS
from fsir.contract import task_from_table
from fsir.limits import LIMITS
from fsir.privacy.plan import SCREENING, final_stage, first_stage
from fsir.wire import messages
from fsir.wire.decode import decode
from fsir.wire.messages import Active, Receipt
from tests.aggregator import federations
from tests.system.hostile.memory import MemoryGrowth
from tests.system.hostile.mutations import Mutator

COUNTED = ("dev-1", "dev-2", "dev-3")
STRANGE_NAMES = (
    "stranger",
    "+",
    "#",
    "dev-1/x",
    "",
    "../dev-1",
    "d\u00e9v",
    "x" * 65,
    "dev-1 ",
    "a" * 5000,
)
# A run in which every message fails at the same first test has tested nothing.
SEEN_AT_LEAST = {
    "malformed",
    "wrong version",
    "wrong device",
    "wrong topic",
    "wrong shape",
    "second report",
}


def with_all_counted(store: SqliteStore) -> tuple[Aggregator, dict[str, list[bytes]]]:
    """An aggregator that has counted all reports of three devices in three tasks; and these."""
    plain = federations.make_task()
    dense = federations.screening_task("dense", quorum=3)
    votes = task_from_table(
        federations.screening_task("votes", quorum=3).table() | {"name": "voted"}
    )
    aggregator = Aggregator(store, [plain, dense, votes])
    aggregator.start(0.0)
    reports: dict[str, list[bytes]] = {}
    for made in (plain, dense, votes):
        stages = [first_stage(made)]
        for stage in stages:
            for seed, device in enumerate(COUNTED):
                raw = federations.report(made, device, seed, stage)
                reports.setdefault(made.name, []).append(raw)
                aggregator.take(federations.topic(made, device), raw)
            for publication in aggregator.commit(1.0):
                if publication.topic.endswith("/active") and stage.name == SCREENING:
                    names = decode(publication.payload, Active).features
                    active = tuple(made.features.names.index(name) for name in names)
                    stages.append(final_stage(made, active))
    expected = {("test", "counted"): 3, ("screened", "counted"): 6, ("voted", "counted"): 6}
    assert aggregator.verdicts == expected
    return aggregator, reports


def hostile_topic(rng: random.Random, name: str) -> str:
    """Mostly a topic that exists, else wildcards, other devices, other levels."""
    if rng.random() < 0.8:
        return messages.topic(name, "report", rng.choice(COUNTED))
    device = rng.choice(STRANGE_NAMES)
    other = rng.choice(("test", "screened", "voted", "nobody", "+", ""))
    kind = rng.choice(("report", "task", "active", "receipt", "presence"))
    strange = messages.topic(other, kind, rng.choice(COUNTED))
    return rng.choice((messages.topic(name, "report", device), strange, f"$SYS/{device}", device))


def test_nothing_hostile_is_merged_and_each_has_a_documented_reason(count, tmp_path):
    rng = random.Random(count)
    store = SqliteStore(tmp_path / "store.db")
    aggregator, reports = with_all_counted(store)
    keys = [(f.key, stage) for f in aggregator.federations.values() for stage in f.layouts]
    before = {place: store.totals(*place) for place in keys}
    mutators = {
        name: Mutator(rng, corpus, LIMITS["report"], ("dev-1", "dev-2", "nobody"))
        for name, corpus in reports.items()
    }
    memory = MemoryGrowth(count)
    answered = 0
    aggregator.verdicts.clear()
    for start in range(0, count, 100):
        for _ in range(100):
            name = rng.choice(list(mutators))
            topic = hostile_topic(rng, name)
            copied = rng.random() < 0.01  # an honest report on somebody else's topic
            payload = rng.choice(reports[name]) if copied else mutators[name].payload()
            aggregator.take(topic, payload)
        for publication in aggregator.commit(2.0 + start):
            decode(publication.payload, Receipt)  # nothing but receipts
            answered += 1
        memory.at(start)
    assert sum(aggregator.verdicts.values()) == count
    outcomes = {outcome for _, outcome in aggregator.verdicts}
    assert outcomes <= set(REASONS) | {"duplicate"} - {"internal error", "full"}
    assert outcomes >= SEEN_AT_LEAST
    assert answered == sum(number for (name, _), number in aggregator.verdicts.items() if name)
    assert {place: store.totals(*place) for place in keys} == before
    for federation in aggregator.federations.values():
        for stage in federation.layouts:
            recounted = recount(store, federation, stage)
            assert recounted.values == store.totals(federation.key, stage).values
    quarantine = store.refused(10 * QUARANTINE_ROWS)
    assert len(quarantine) <= QUARANTINE_ROWS
    assert {row.reason for row in quarantine} <= set(REASONS)
    assert all(0 < len(row.detail) <= 300 for row in quarantine)
    memory.check()
