"""Who has its receipts may leave the broker; nobody else does, and all come back."""

from __future__ import annotations

import random

import pytest

from edge_agent.agent import Agent, Phase
from edge_agent.consent.policy import Policy
from edge_agent.loop.staying import AWAY, LISTEN_SECONDS, Staying
from tests.edge_agent.world import data, receipt, simulated, subspace
from tests.fsir.tasks import task

PLAIN = task()


def answered() -> Agent:
    """A device that has its receipt."""
    agent = simulated(PLAIN)
    agent.learn_many(*data(PLAIN, 100))
    (sent,) = agent.outgoing(1.0)
    agent.receive(*receipt(PLAIN, [sent]))
    assert agent.phase is Phase.SERVING
    return agent


def test_it_leaves_after_it_has_listened_and_for_longer_each_time() -> None:
    kept = Staying([answered()], stays=False)
    kept._rng = random.Random(1)
    pauses = []
    now = 0.0
    for _ in range(12):
        kept.connected()
        assert kept.leaves_for(now) is None  # what the broker keeps has to come
        assert kept.due == now + LISTEN_SECONDS
        seconds = kept.leaves_for(now + LISTEN_SECONDS)
        assert seconds is not None
        pauses.append(seconds)
        now += LISTEN_SECONDS + seconds
    assert AWAY.first / 2 <= pauses[0] <= 1.5 * AWAY.first
    assert max(pauses) <= 1.5 * AWAY.longest
    assert min(pauses[-3:]) >= AWAY.longest / 2


def test_who_stays_never_leaves() -> None:
    kept = Staying([answered()], stays=True)
    assert [kept.leaves_for(now) for now in (0.0, 1e6)] == [None, None]


def test_nobody_leaves_with_a_report_to_come_or_without_a_receipt() -> None:
    """When it came back would tell when its records were complete."""
    learning = simulated(PLAIN)
    learning.outgoing(0.0)
    reported = simulated(PLAIN)
    reported.learn_many(*data(PLAIN, 100))
    reported.outgoing(1.0)
    for agent in (learning, reported):
        kept = Staying([answered(), agent], stays=False)
        assert [kept.leaves_for(now) for now in (0.0, 1e6)] == [None, None]


def test_nobody_leaves_before_the_answer_to_its_ask() -> None:
    agent = answered()
    agent.disconnected()
    agent.connected(10.0)
    kept = Staying([agent], stays=False)
    assert [kept.leaves_for(now) for now in (10.0, 100.0)] == [None, None]
    agent.outgoing(100.0)  # it asks, and is answered
    assert kept.leaves_for(100.0) is None
    assert kept.leaves_for(200.0) is not None


def test_what_it_serves_needs_no_connection() -> None:
    agent = answered()
    agent.receive(*subspace(PLAIN, PLAIN.features.names))
    agent.disconnected()
    assert agent.serving


@pytest.mark.parametrize(("text", "stay"), [("", True), ("stay = false", False)])
def test_the_policy_of_a_device_on_a_battery_says_so(tmp_path, text: str, stay: bool) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(text)
    assert Policy.load(file).stay is stay
