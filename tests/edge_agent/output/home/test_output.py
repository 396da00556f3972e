"""When the home is told what: a broker of paper, and a clock that the test turns."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from edge_agent.consent.policy import Policy
from edge_agent.errors import StorageError
from edge_agent.output.home import output
from edge_agent.output.home.told import Told
from edge_agent.state.state import State
from fsir.errors import LoginRefusedError
from fsir.net.broker import Broker
from tests.edge_agent.world import DEVICE, data, simulated
from tests.fsir.tasks import task


class Paper:
    """A connection that writes down what it is to publish."""

    def __init__(self, broker, client_id, topics, on_message, *, on_up, will, logger):
        self.topics = topics
        self.receive = on_message
        self.will = will
        self._on_up = on_up
        self.up = False
        self.refuses = False
        self.published = []

    def connect(self):
        self.up = True
        self._on_up()

    def step(self, now):
        if self.refuses:
            raise LoginRefusedError("refuses device login")

    def next_due(self, now):
        return now + 10.0

    def fileno(self):
        return 7

    def wants_write(self):
        return False

    def publish(self, topic, payload, retain=False):
        assert retain
        self.published.append((topic, payload))

    def close(self):
        self.up = False

    def take(self) -> list[str]:
        """The last parts of the topics published since the last time."""
        topics = [topic.rpartition("/")[2] for topic, _ in self.published]
        self.published.clear()
        return topics


@pytest.fixture
def home(monkeypatch, tmp_path):
    """An agent whose home is told what it learns."""
    monkeypatch.setattr(output, "Connection", Paper)
    state = State(tmp_path, DEVICE, simulated=True)
    agents = [simulated(task(), state=state)]
    told = Told(state, tmp_path, Policy(), agents, clock=lambda: 1000.0)
    labels = []
    made = output.HomeBroker(Broker.parse("mqtt://home"), "home", told, labels.append)
    yield SimpleNamespace(
        output=made, paper=made._connection, agents=agents, labels=labels, told=told
    )
    state.close()


def learn(home, n=1):
    (agent,) = home.agents
    agent.learn_many(*data(task(), n))


def test_nothing_is_said_before_there_is_a_connection(home):
    home.output.step(0.0)
    assert home.paper.take() == []
    assert home.paper.will() == ("home/availability", b"offline")


def test_first_the_device_then_what_is_known(home):
    home.paper.connect()
    home.output.step(0.0)
    assert home.paper.take() == ["availability", "config", "state"]


def test_only_news_and_at_most_once_a_second(home):
    home.paper.connect()
    home.output.step(0.0)
    home.paper.take()
    home.output.step(2.0)
    assert home.paper.take() == []  # nothing new
    learn(home)
    home.output.step(2.1)
    assert home.paper.take() == ["state"]
    for now in (2.2, 2.9, 3.0):
        learn(home)
        home.output.step(now)
        assert home.paper.take() == []
        assert home.output.due(now) == pytest.approx(3.1)  # and then it is told
    home.output.step(3.1)
    assert home.paper.take() == ["state"]
    home.output.step(4.2)
    assert home.output.due(4.2) == pytest.approx(14.2)  # nobody is woken for nothing


def test_a_task_that_is_accepted_later_brings_its_classes(home):
    agents = list(home.agents)
    home.agents.clear()
    home.paper.connect()
    home.output.step(0.0)
    home.paper.take()
    home.agents += agents
    home.output.step(1.0)
    content = dict(home.paper.published)
    assert home.paper.take() == ["config", "state"]
    (config,) = (json.loads(raw) for topic, raw in content.items() if topic.endswith("config"))
    assert config["components"]["test_activity"]["options"] == ["a", "b", "c"]


def message(topic, payload, retain=False):
    return SimpleNamespace(topic=topic, payload=payload, retain=retain)


@pytest.mark.parametrize(
    ("payload", "retain", "again"),
    [(b"online", False, True), (b"offline", False, False), (b"online", True, False)],
)
def test_all_is_said_again_when_home_assistant_starts(home, payload, retain, again):
    home.paper.connect()
    home.output.step(0.0)
    home.paper.take()
    assert "homeassistant/status" in home.paper.topics
    home.paper.receive(message("homeassistant/status", payload, retain))
    home.output.step(5.0)
    assert home.paper.take() == (["availability", "config", "state"] if again else [])


def test_labels_go_their_own_way(home):
    pressed = message("home/label/set", b'{"label": "a"}')
    home.paper.receive(pressed)
    assert home.labels == [pressed]


def test_the_end_is_told(home):
    home.paper.connect()
    home.output.step(0.0)
    home.paper.take()
    learn(home)
    home.output.close()
    assert home.paper.published[-1] == ("home/availability", b"offline")
    assert home.paper.take() == ["state", "availability"]


def test_a_login_that_is_refused_at_once_is_a_mistake_in_the_settings(home):
    home.paper.refuses = True
    with pytest.raises(LoginRefusedError):
        home.output.step(0.0)


def test_a_login_that_is_refused_later_does_not_stop_the_agent(home, caplog):
    home.paper.connect()
    home.output.step(0.0)
    home.paper.refuses = True
    for now in (1.0, 2.0):
        home.output.step(now)
        assert home.output.readers() == []
        assert home.output.due(now) == float("inf")
    assert caplog.text.count("told nothing more until the agent starts again") == 1


def test_a_disk_that_cannot_be_read_does_not_stop_the_agent(home, monkeypatch, caplog):
    def broken():
        raise StorageError("the disk is gone")

    monkeypatch.setattr(home.told, "table", broken)
    home.paper.connect()
    for now in (0.0, 1.0, 2.0):
        home.output.step(now)
    assert caplog.text.count("the disk is gone") == 1
