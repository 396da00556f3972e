"""Hostile messages on every topic that the agent reads: none is obeyed, each has its reason."""

from __future__ import annotations

import logging
import random
from collections.abc import Iterator

import pytest

from edge_agent.agent import Agent
from edge_agent.consent.policy import Policy
from edge_agent.exchange import inbox
from edge_agent.state.state import State
from fsir.contract import decode_task
from fsir.errors import FsirError
from fsir.limits import LIMITS
from fsir.privacy.noise import SeededNoise
from fsir.wire import messages
from tests.edge_agent.world import DEVICE, active, data, receipt, simulated, subspace
from tests.fsir.tasks import screened, task
from tests.system.hostile.memory import MemoryGrowth
from tests.system.hostile.mutations import Mutator

# Topics that the agent has not asked for.
ELSEWHERE = (
    "fsir/1/test/#",
    "fsir/1/+/active",
    "fsir/1/test/receipt/dev-2",
    "fsir/2/test/task",
    "",
    "x" * 5000,
)


class Refusals:
    """Counts what the agent refuses, each with a reason, and keeps it from whoever stores lines."""

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
    heard = Refusals()
    logger = logging.getLogger("fsir.agent")
    logger.addFilter(heard)
    yield heard
    logger.removeFilter(heard)


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
        state,
        name,
        Policy(epsilon=50.0),
        noise=SeededNoise(1, DEVICE),
        simulated=True,
        quiet_seconds=0.0,
    )
    agent.connected(0.0)
    return agent


def drive(agent: Agent, rng: random.Random) -> None:
    """A device that believes what it was told must still be able to live with it."""
    assert agent.task is not None
    label = (agent.task.response.classes or (0.0,))[0]
    rows = [[rng.gauss(0.0, 1.0) for _ in range(agent.task.p)] for _ in range(3)]
    agent.learn_many(rows, [label] * 3)
    agent.outgoing(1.0)
    agent.next_due(1.0)


def test_a_hostile_task_is_refused_or_is_one_that_the_owner_accepts(count, refusals):
    count //= 4
    rng = random.Random(count)
    corpus = [task().encode(), screened().encode(), task(report={"deadline": 2**31}).encode()]
    mutator = Mutator(rng, corpus, LIMITS["task"])
    memory = MemoryGrowth(count)
    agent = fresh_agent()
    taken = 0
    for number in range(count):
        payload = mutator.payload()
        said = refusals.count
        agent.receive(messages.topic("test", "task"), payload)
        if agent.task is None:
            # Nothing at all is how a retained message is cleared.
            assert refusals.count == said + bool(payload)
        else:
            assert decode_task(payload) == agent.task
            assert Policy(epsilon=50.0).refusals(agent.task) == []
            drive(agent, rng)
            taken += 1
            agent = fresh_agent()
        memory.at(number)
    assert taken  # some changes are harmless: then it is simply another task
    memory.check()
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
def test_hostile_news_changes_nothing_unless_it_is_valid(count, kind, refusals):
    count //= 4
    rng = random.Random(count)
    agent, corpus = hostile_server(kind)
    assert agent.task is not None
    mutator = Mutator(rng, corpus, LIMITS[kind], ("dev-1", "dev-2"))
    where = messages.topic(agent.name, kind, DEVICE if kind == "receipt" else None)
    memory = MemoryGrowth(count)
    before = snapshot(agent)
    valid = 0
    for number in range(count):
        payload = mutator.payload()
        agent.receive(rng.choice(ELSEWHERE), rng.choice(corpus))
        said = refusals.count
        fits = acceptable(kind, payload, agent)
        agent.receive(where, payload)
        assert refusals.count == said + (bool(payload) and not fits)
        if fits:
            valid += 1
            agent.outgoing(1e9)
            agent.next_due(1e9)
            agent, _ = hostile_server(kind)
            before = snapshot(agent)
        elif number % 16 == 0:
            assert snapshot(agent) == before
        memory.at(number)
    assert snapshot(agent) == before
    assert 0 < valid < count
    memory.check()


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
