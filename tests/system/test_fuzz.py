"""Hostile messages on every topic that either side reads: none is merged or obeyed, each has a documented reason."""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from aggregator import merging as counting
from aggregator.core import Aggregator
from aggregator.reasons import REASONS
from aggregator.store.sqlite import QUARANTINE_ROWS, SqliteStore
from edge_agent.agent import Agent
from edge_agent.consent.policy import Policy
from edge_agent.exchange import inbox
from edge_agent.state.state import State
from fsir.contract import decode_task, task_from_table
from fsir.errors import FsirError
from fsir.limits import LIMITS
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import SCREENING, final_stage, first_stage
from fsir.wire import messages
from fsir.wire.decode import decode
from fsir.wire.messages import Active, Receipt
from tests.aggregator import federations
from tests.edge_agent.world import DEVICE, active, data, receipt, simulated, subspace
from tests.fsir.tasks import screened, task
from tests.system.mutations import Mutator

MEGABYTE = 2**20
COUNTED = ("dev-1", "dev-2", "dev-3")
COUNTS = [10_000, pytest.param(100_000, marks=pytest.mark.slow)]  # on each side


def memory() -> int:
    """Bytes that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Refusals:
    """Counts what the agent refuses, each with a reason, and keeps it from whoever would store all these lines."""

    def __init__(self) -> None:
        self.count = 0

    def filter(self, record: logging.LogRecord) -> bool:
        _, refused, what = record.getMessage().partition(": refused what came on ")
        if refused:
            self.count += 1
            assert what.partition(": ")[2], what
        return False


@pytest.fixture
def refusals() -> Iterator[Refusals]:
    heard, logger = Refusals(), logging.getLogger("fsir.agent")
    logger.addFilter(heard)
    yield heard
    logger.removeFilter(heard)


# --- the aggregator ---------------------------------------------------------------------------------------------------


def served(store: SqliteStore) -> tuple[Aggregator, dict[str, list[bytes]]]:
    """An aggregator of three tasks that has counted every report of three devices, and the reports."""
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
                reports.setdefault(made.name, []).append(
                    federations.report(made, device, seed, stage)
                )
                aggregator.take(federations.topic(made, device), reports[made.name][-1])
            for publication in aggregator.commit(1.0):
                if publication.topic.endswith("/active") and stage.name == SCREENING:
                    features = decode(publication.payload, Active).features  # type: ignore[union-attr]
                    stages.append(final_stage(made, made.features.indices(features)))
    expected = {("test", "counted"): 3, ("screened", "counted"): 6, ("voted", "counted"): 6}
    assert aggregator.verdicts == expected
    return aggregator, reports


def hostile_topic(rng: random.Random, name: str) -> str:
    """Mostly a topic that exists, else wildcards, other devices, other levels."""
    if rng.random() < 0.8:
        return messages.topic(name, "report", rng.choice(COUNTED))
    device = rng.choice(
        (
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
    )
    other = rng.choice(("test", "screened", "voted", "nobody", "+", ""))
    kind = rng.choice(("report", "task", "active", "receipt", "presence"))
    strange = messages.topic(other, kind, rng.choice(COUNTED))
    return rng.choice((messages.topic(name, "report", device), strange, f"$SYS/{device}", device))


@pytest.mark.parametrize("count", COUNTS)
def test_nothing_hostile_is_merged_and_each_has_a_documented_reason(count, tmp_path):
    rng = random.Random(count)
    store = SqliteStore(tmp_path / "store.db")
    aggregator, reports = served(store)
    keys = [(f.key, stage) for f in aggregator.federations.values() for stage in f.layouts]
    before = {place: store.totals(*place) for place in keys}
    mutators = {
        name: Mutator(rng, corpus, LIMITS["report"], ("dev-1", "dev-2", "nobody"))
        for name, corpus in reports.items()
    }
    answered, held = 0, 0
    aggregator.verdicts.clear()
    for start in range(0, count, 100):
        for _ in range(100):
            name = rng.choice(list(mutators))
            topic = hostile_topic(rng, name)
            copied = rng.random() < 0.01  # an honest report on somebody else's topic
            aggregator.take(
                topic, rng.choice(reports[name]) if copied else mutators[name].payload()
            )
        for publication in aggregator.commit(2.0 + start):
            found = decode(publication.payload, Receipt)
            assert isinstance(found, messages.Receipt)
            answered += 1
        held = held or (memory() if start >= count // 10 else 0)
    assert sum(aggregator.verdicts.values()) == count
    outcomes = {outcome for _, outcome in aggregator.verdicts}
    assert outcomes <= set(REASONS) | {"duplicate"} - {"internal error", "full"}
    # A run in which every message fails at the same first test has tested nothing.
    assert {
        "malformed",
        "wrong version",
        "wrong device",
        "wrong topic",
        "wrong shape",
        "second report",
    } <= outcomes
    assert answered == sum(number for (name, _), number in aggregator.verdicts.items() if name)
    assert {place: store.totals(*place) for place in keys} == before
    for federation in aggregator.federations.values():
        for stage in federation.layouts:
            assert (
                counting.recount(store, federation, stage).values
                == store.totals(federation.key, stage).values
            )
    quarantine = store.refused(10 * QUARANTINE_ROWS)
    assert len(quarantine) <= QUARANTINE_ROWS
    assert {row.reason for row in quarantine} <= set(REASONS)
    assert all(0 < len(row.detail) <= 300 for row in quarantine)
    assert memory() - held < 64 * MEGABYTE


# --- the agent --------------------------------------------------------------------------------------------------------


def snapshot(agent: Agent) -> tuple[object, ...]:
    """Everything that a device remembers of itself."""
    state = agent.state
    return (
        state.pins(),
        state.ledger(),
        state.outbox(),
        state.progress(agent.name),
        agent.active,
        agent.reason,
    )


def fresh_agent(name: str = "test") -> Agent:
    state = State(None, DEVICE, simulated=True)
    agent = Agent(
        state, name, Policy(epsilon=50.0), noise=SeededNoise(1, DEVICE), simulated=True, settle=0.0
    )
    agent.connected(0.0)
    return agent


def drive(agent: Agent, rng: random.Random) -> None:
    """A device that believes what it was told must still be able to live with it."""
    assert agent.task is not None
    label = (agent.task.response.classes or (0.0,))[0]
    agent.learn_many(
        [[rng.gauss(0.0, 1.0) for _ in range(agent.task.p)] for _ in range(3)], [label] * 3
    )
    agent.outgoing(1.0)
    agent.next_due(1.0)


@pytest.mark.parametrize("count", COUNTS)
def test_a_hostile_task_is_refused_or_is_one_that_the_owner_accepts(count, refusals):
    count //= 4
    rng = random.Random(count)
    corpus = [task().encode(), screened().encode(), task(report={"deadline": 2**31}).encode()]
    mutator = Mutator(rng, corpus, LIMITS["task"])
    agent, taken, held = fresh_agent(), 0, 0
    for i in range(count):
        payload = mutator.payload()
        said = refusals.count
        agent.receive(messages.topic("test", "task"), payload, rng.random() < 0.5)
        if agent.task is None:
            assert refusals.count == said + bool(
                payload
            )  # nothing at all is how a retained message is cleared
        else:
            assert decode_task(payload) == agent.task
            assert Policy(epsilon=50.0).refusals(agent.task) == []
            drive(agent, rng)
            taken += 1
            agent = fresh_agent()
        held = held or (memory() if i >= count // 10 else 0)
    assert taken  # some changes are harmless: then it is simply another task
    assert memory() - held < 64 * MEGABYTE
    honest = task()
    agent.receive(messages.topic("test", "task"), honest.encode())
    assert agent.task == honest


def hostile_server(kind: str) -> tuple[Agent, list[bytes]]:
    """An agent that waits for a message of this kind, and honest examples of it."""
    made = screened(records="same")
    agent = simulated(made)
    agent.learn_many(*data(made, 100))
    sent = agent.outgoing(1.0)
    assert agent.pending == 1
    names = made.features.names
    answers = (("counted", ""), ("duplicate", ""), ("refused", "malformed: x"))
    examples = {
        "receipt": [receipt(made, sent, *answer) for answer in answers],
        "active": [active(made, *names[:2]), active(made, names[1]), active(made, *names[:4])],
        "subspace": [
            subspace(made, names[:2]),
            subspace(made, names[:3], 2),
            subspace(made, names, 1),
        ],
    }[kind]
    return agent, [raw for _, raw in examples]


@pytest.mark.parametrize("kind", ["receipt", "active", "subspace"])
@pytest.mark.parametrize("count", COUNTS)
def test_hostile_news_changes_nothing_unless_it_is_valid(count, kind, refusals):
    count //= 4
    rng = random.Random(count)
    agent, corpus = hostile_server(kind)
    assert agent.task is not None
    mutator = Mutator(rng, corpus, LIMITS[kind], ("dev-1", "dev-2"))
    where = messages.topic(agent.name, kind, DEVICE if kind == "receipt" else None)
    elsewhere = (
        "fsir/1/test/#",
        "fsir/1/+/active",
        "fsir/1/test/receipt/dev-2",
        "fsir/2/test/task",
        "",
        "x" * 5000,
    )
    before, valid, held = snapshot(agent), 0, 0
    for i in range(count):
        payload = mutator.payload()
        agent.receive(rng.choice(elsewhere), rng.choice(corpus))
        said, fits = refusals.count, acceptable(kind, payload, agent)
        agent.receive(where, payload, rng.random() < 0.5)
        assert refusals.count == said + (bool(payload) and not fits)
        if fits:
            valid += 1
            agent.outgoing(1e9)
            agent.next_due(1e9)
            agent, _ = hostile_server(kind)
            before = snapshot(agent)
        elif i % 16 == 0:
            assert snapshot(agent) == before
        held = held or (memory() if i >= count // 10 else 0)
    assert snapshot(agent) == before
    assert 0 < valid < count
    assert memory() - held < 64 * MEGABYTE


def acceptable(kind: str, payload: bytes, agent: Agent) -> bool:
    assert agent.task is not None
    try:
        if kind == "receipt":
            inbox.read_receipt(payload, DEVICE)
        elif kind == "active":
            inbox.read_active(payload, agent.task)
        else:
            inbox.read_subspace(payload, agent.task, agent.active)
    except FsirError:
        return False
    return True
