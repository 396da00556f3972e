"""A broker is asked again for what it lost, and by who was away for what is new."""

from __future__ import annotations

import contextlib
import io
import time

import pytest

from edge_agent.agent import Agent, Feed, Phase
from edge_agent.loop.runner import Manner, Runner
from edge_agent.output import Lines
from edge_agent.state.state import State
from fsir.net.backoff import Delays
from fsir.net.broker import Broker
from tests.edge_agent.aggregators import TinyAggregator
from tests.edge_agent.processes import DEVICE
from tests.edge_agent.world import active, data, subspace
from tests.fsir.tasks import screened, task

pytestmark = pytest.mark.broker


class Nothing:
    """A source in which nothing ever happens."""

    name = stream = "memory"
    replayable = ended = False
    unit_records = 1

    def resume(self, after):
        pass

    def poll(self, limit):
        return []

    def fileno(self):
        return None

    def delay(self):
        return 60.0


def drive(runner, condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        runner._step()
        time.sleep(0.01)


def test_what_the_broker_lost_is_asked_for_again(mosquitto_url, tmp_path, monkeypatch):
    """The active set is only retained, as if its delivery had been lost: subscribing brings it."""
    monkeypatch.setattr("edge_agent.loop.asking.AGAIN", Delays(first=0.3, longest=1.0))
    of = screened()
    with (
        TinyAggregator(mosquitto_url, of) as server,
        contextlib.closing(State(tmp_path / "state", DEVICE)) as state,
    ):
        agent = Agent(state, "test", feed=Feed("memory"))
        runner = Runner(
            [agent],
            state,
            Broker.parse(mosquitto_url),
            source=Nothing(),
            output=Lines(io.StringIO()),
            manner=Manner(),
        )
        drive(runner, lambda: agent.task is not None)
        agent.learn_many(*data(of, 100))
        drive(runner, lambda: (DEVICE, "screening") in server.counted)
        real = agent.receive
        lost = []
        agent.receive = lambda *message: (
            lost.append(message) if "active" in message[0] and not lost else real(*message)
        )
        server.publish(*active(of, "x1", "x4"), retain=True)
        drive(runner, lambda: agent.active is not None)
        assert lost
        runner._leave()


def test_it_leaves_and_comes_back_for_what_was_published_meanwhile(
    mosquitto_url, tmp_path, monkeypatch
):
    monkeypatch.setattr("edge_agent.loop.staying.LISTEN_SECONDS", 0.2)
    monkeypatch.setattr("edge_agent.loop.staying.AWAY", Delays(first=1.0, longest=1.0))
    of = task()
    with (
        TinyAggregator(mosquitto_url, of) as server,
        contextlib.closing(State(tmp_path / "state", DEVICE)) as state,
    ):
        agent = Agent(state, "test", feed=Feed("memory"))
        runner = Runner(
            [agent],
            state,
            Broker.parse(mosquitto_url),
            source=Nothing(),
            output=Lines(io.StringIO()),
            manner=Manner(stays=False),
        )
        drive(runner, lambda: agent.task is not None)
        agent.learn_many(*data(of, 100))
        drive(runner, lambda: agent.phase is Phase.SERVING)
        drive(runner, lambda: not runner._connection.up)
        server.publish(*subspace(of, of.features.names), retain=True)
        drive(runner, lambda: agent.serving)
        drive(runner, lambda: not runner._connection.up)
        runner._leave()
