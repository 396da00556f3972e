"""One topic, listened to: who listens, and which messages are handed over."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from edge_agent.mqtt import subscription as module
from edge_agent.mqtt.subscription import Subscription
from fsir.net.broker import Broker

BROKER = Broker("127.0.0.1", 9)


class Wire:
    """A connection with messages that are there already; each step brings one."""

    def __init__(self, broker, client_id, topics, on_message, *, qos):
        self.client_id = client_id
        self.topics = topics
        self.qos = qos
        self.on_message = on_message
        self.messages = []

    def step(self, now):
        if self.messages:
            self.on_message(self.messages.pop(0))

    def next_due(self, now):
        return now + 7.0

    def fileno(self):
        return 5


@pytest.fixture
def listen(monkeypatch):
    """A subscription, what it takes, and its connection."""

    def make(kind="source", **settings):
        monkeypatch.setattr(module, "Connection", Wire)
        taken = []
        subscription = Subscription(BROKER, kind, "home/+", taken.append, **settings)
        return subscription, taken, subscription._connection

    return make


def message(number, retain=False, dup=False):
    return SimpleNamespace(number=number, retain=retain, dup=dup)


@pytest.mark.parametrize("kind", ["source", "labels"])
def test_it_reads_one_topic_at_qos_0_under_a_name_of_its_own(listen, kind):
    wires = [listen(kind)[2] for _ in range(2)]
    for wire in wires:
        assert re.fullmatch(f"fsir-{kind}-[0-9a-f]{{12}}", wire.client_id)
        assert (wire.topics, wire.qos) == (["home/+"], 0)
    assert wires[0].client_id != wires[1].client_id


@pytest.mark.parametrize(("repeats", "expected"), [(False, [0, 3]), (True, [0, 1, 2, 3])])
def test_what_is_retained_or_repeated_is_handed_over_only_if_asked_for(listen, repeats, expected):
    subscription, taken, wire = listen(repeats=repeats)
    wire.messages = [message(0), message(1, retain=True), message(2, dup=True), message(3)]
    subscription.poll(10)
    assert [one.number for one in taken] == expected


def test_a_poll_handles_a_few_messages_and_a_step_one(listen):
    subscription, taken, wire = listen()
    wire.messages = [message(k) for k in range(9)]
    subscription.poll(4)
    assert len(taken) == 4
    subscription.step(0.0)
    assert len(taken) == 5
    subscription.poll(100)
    assert len(taken) == 9


def test_it_waits_as_its_connection_does(listen):
    subscription, _, _ = listen()
    assert subscription.fileno() == 5
    assert subscription.next_due(100.0) == 107.0
    assert subscription.delay() == pytest.approx(7.0)
