"""A record enters a report once, from every source: what is booked is what it costs."""

from __future__ import annotations

import json
import os

import pytest

from edge_agent.agent import Agent
from edge_agent.consent.admission import Feed
from edge_agent.errors import StateError
from edge_agent.member import Member
from edge_agent.sources.jsonl import StandardInput
from edge_agent.state.state import State
from fsir.privacy.noise import SeededNoise
from fsir.wire.messages import topic
from tests.edge_agent.learning.exact import booked_mu, exact_mu, tapped
from tests.edge_agent.sources.test_mqtt_topic import Heard
from tests.edge_agent.world import DEVICE
from tests.fsir.tasks import task

TASK = task(report={"records": 40})
LONG = dict.fromkeys(TASK.features.names, 9.0) | {"y": "a"}
AWAY = dict.fromkeys(TASK.features.names, -9.0) | {"y": "a"}


def readings(changed):
    """Twenty readings; in the world that is `changed` the first is the opposite one."""
    others = [dict.fromkeys(TASK.features.names, 0.01 * k) | {"y": "b"} for k in range(19)]
    return [AWAY if changed else LONG, *others]


def agent_of(state, feed):
    agent = Agent(state, TASK.name, feed=feed, simulated=True, noise=SeededNoise(1))
    agent.connected(0.0)
    agent.receive(topic(TASK.name, "task"), TASK.encode())
    return agent


def run(state, source, records):
    """One run of a program that reads all there is and leaves."""
    agent = agent_of(state, Feed.of(source))
    source.resume(state.last_position(source.name))
    for record in records(source):
        agent.learn(record)
    agent.outgoing(1.0)
    agent.checkpoint(leaving=True)
    return agent


def piped(lines):
    def records(source):
        return source.poll(1000)

    read, write = os.pipe()
    os.write(write, b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    os.close(write)
    return StandardInput(read), records


@pytest.mark.parametrize("runs", [2, 3, 4])
def test_a_pipe_that_is_fed_twice_costs_what_is_booked(runs, monkeypatch, caplog):
    """What an earlier run has learned is dropped, and that is said."""
    worlds = []
    for changed in (False, True):
        state = State(None, DEVICE, simulated=True)
        with tapped(monkeypatch) as seen:
            for _ in range(runs):
                run(state, *piped(readings(changed)))
            run(state, *piped(readings(changed) + 20 * [LONG]))
        assert len(state.ledger()) == 1
        worlds.append((state, seen))
    assert exact_mu(worlds[0][1], worlds[1][1]) <= booked_mu(worlds[0][0])
    assert caplog.text.count("not reported is dropped: jsonl:-") == 2 * runs


def test_a_library_caller_that_is_fed_twice_costs_what_is_booked(monkeypatch, tmp_path):
    worlds = []
    for changed in (False, True):
        with tapped(monkeypatch) as seen:
            for again in (0, 0, 20):
                with Member(
                    "mqtt://127.0.0.1:9", TASK.name, DEVICE, tmp_path / str(changed)
                ) as one:
                    one.agent.receive(topic(TASK.name, "task"), TASK.encode())
                    for x in readings(changed) + again * [LONG]:
                        one.learn(x, x["y"])
        state = State(tmp_path / str(changed), None, read_only=True)
        assert len(state.ledger()) == 1
        worlds.append((seen, booked_mu(state)))
        state.close()
    assert exact_mu(worlds[0][0], worlds[1][0]) <= worlds[0][1]


def test_a_library_caller_that_numbers_its_records_goes_on_and_counts_each_once(tmp_path):
    def offer(numbers):
        with Member("mqtt://127.0.0.1:9", TASK.name, DEVICE, tmp_path, stream="belt") as one:
            one.agent.receive(topic(TASK.name, "task"), TASK.encode())
            for number in numbers:
                one.learn(LONG, "a", number)
            return one.agent.n

    assert offer(range(20)) == 20
    assert offer(range(10, 30)) == 30
    with pytest.raises(StateError, match="needs the number of each record"):
        offer([None])


@pytest.mark.parametrize("restart", [False, True])
def test_a_topic_that_repeats_its_readings_costs_what_is_booked(restart, monkeypatch):
    worlds = []
    for changed in (False, True):
        state = State(None, DEVICE, simulated=True)
        with tapped(monkeypatch) as seen:
            source = Heard()
            agent = agent_of(state, Feed.of(source))
            source.resume(state.last_position(source.name))
            for turn in range(4):
                if restart and turn == 1:
                    agent.checkpoint(leaving=True)
                    source = Heard()
                    agent = agent_of(state, Feed.of(source))
                    source.resume(state.last_position(source.name))
                for reading in readings(changed):
                    source.hear(reading)
                for record in source.poll(100):
                    agent.learn(record)
                agent.outgoing(1.0)
        assert len(state.ledger()) == 1
        worlds.append((state, seen))
    assert exact_mu(worlds[0][1], worlds[1][1]) <= booked_mu(worlds[0][0])
    assert source._tally.counts


def test_a_topic_with_identities_goes_on_where_it_was():
    state = State(None, DEVICE, simulated=True)
    for start in (0, 10):
        source = Heard(record_id="k")
        agent = agent_of(state, Feed.of(source))
        source.resume(state.last_position(source.name))
        for k in range(start, start + 20):
            source.hear(LONG | {"k": k})
        for record in source.poll(100):
            agent.learn(record)
        agent.checkpoint()
    assert agent.n == 30
