"""A broker that federations can rely on:
what is sent arrives once, at those who asked, and nothing is left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable

import paho.mqtt.client as mqtt
import pytest

from sim_devices.network import kinds
from sim_devices.network.broker import LocalBroker
from sim_devices.network.kinds import BrokerError
from sim_devices.network.probe import free_port, in_service

PATIENCE = 20.0  # seconds; only reached when something is wrong


class Listener:
    """A 3.1.1 client with a persistent session that remembers what it got."""

    def __init__(self, url: str, name: str, *topics: str, protocol: int = mqtt.MQTTv311) -> None:
        self.name = name
        self.protocol = protocol
        self.address = ("127.0.0.1", int(url.rsplit(":", 1)[1]))
        self.got: list[tuple[str, bytes, bool]] = []
        self.codes: list[str] = []
        self.come_back()
        if topics:
            subscribed = threading.Event()
            self.client.on_subscribe = lambda *_: subscribed.set()
            self.client.subscribe([(topic, 1) for topic in topics])
            assert subscribed.wait(PATIENCE)

    def come_back(self) -> None:
        # A new client object each time: paho's loop_start leaks its socket pair if it is called
        # twice on one.
        session = {"clean_session": False} if self.protocol == mqtt.MQTTv311 else {}
        protocol = mqtt.MQTTProtocolVersion(self.protocol)
        self.client = mqtt.Client(
            mqtt.CallbackAPIVersion.VERSION2, client_id=self.name, protocol=protocol, **session
        )
        self.client.on_message = lambda _client, _data, m: self.got.append(
            (m.topic, m.payload, m.retain)
        )
        self.client.on_connect = lambda _client, _data, _flags, code, _properties: (
            self.codes.append(str(code))
        )
        self.client.connect(*self.address)
        self.client.loop_start()

    def topics(self) -> Counter[str]:
        return Counter(topic for topic, _, _ in self.got)

    def publish(self, topic: str, payload: bytes, retain: bool = False) -> None:
        self.client.publish(topic, payload, qos=1, retain=retain).wait_for_publish(PATIENCE)

    def leave(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()


def wait_for(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


@pytest.fixture(params=["embedded", pytest.param("mosquitto", marks=pytest.mark.broker)])
def url(request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue(f"{request.param}_url")


def test_devices_that_join_at_once_get_their_own_messages_and_no_others(url):
    devices = 60
    server = Listener(url, "server", "report/+")
    server.client.on_message = lambda client, _data, m: client.publish(
        m.topic.replace("report", "receipt"), m.payload, qos=1, retain=True
    )
    server.publish("task", b"contract", retain=True)
    fleet = [Listener(url, f"d{k}") for k in range(devices)]
    for k, device in enumerate(fleet):
        device.client.subscribe([("task", 1), (f"receipt/d{k}", 1)])
        device.client.publish(f"report/d{k}", bytes(5000), qos=1)
    assert wait_for(lambda: all(len(device.got) >= 2 for device in fleet))
    assert [device.topics() for device in fleet] == [
        Counter({"task": 1, f"receipt/d{k}": 1}) for k in range(devices)
    ]
    late = Listener(url, "late", "task")
    assert wait_for(lambda: bool(late.got))
    assert late.got == [("task", b"contract", True)]
    assert all(device.codes == ["Success"] for device in fleet), "nobody lost the connection"
    for client in (server, late, *fleet):
        client.leave()


def test_messages_wait_for_an_absent_client_and_arrive_once_as_new(url):
    sender = Listener(url, "sender")
    absent = Listener(url, "absent", "report/+", "task")
    sender.publish("task", b"contract", retain=True)
    assert wait_for(lambda: len(absent.got) == 1)
    absent.leave()
    time.sleep(2.5)  # the embedded engine sweeps its sessions every second
    for k in range(20):
        sender.publish(f"report/{k}", b"r")
    absent.come_back()
    assert wait_for(lambda: len(absent.got) >= 21)
    time.sleep(0.5)  # for anything that should not come
    assert absent.topics() == Counter({"task": 1, **{f"report/{k}": 1 for k in range(20)}})
    assert not any(retain for topic, _, retain in absent.got if topic != "task")
    sender.leave()
    absent.leave()


def test_a_retained_message_is_replaced_and_cleared(url):
    sender = Listener(url, "sender")
    for payload in (b"1", b"2"):
        sender.publish("subspace", payload, retain=True)
    sender.publish("receipt/a", b"x", retain=True)
    sender.publish("receipt/a", b"", retain=True)
    reader = Listener(url, "reader", "subspace", "receipt/a")
    assert wait_for(lambda: bool(reader.got))
    time.sleep(0.3)
    assert reader.got == [("subspace", b"2", True)]
    sender.leave()
    reader.leave()


def test_a_client_whose_name_comes_a_second_time_is_pushed_out(url):
    ended = threading.Event()
    first = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id="twin")
    first.on_disconnect = lambda *_: ended.set()
    address = ("127.0.0.1", int(url.rsplit(":", 1)[1]))
    first.connect(*address)
    first.loop_start()
    second = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id="twin")
    try:
        assert wait_for(first.is_connected)
        second.connect(*address)
        second.loop_start()
        assert ended.wait(PATIENCE)
    finally:
        for client in (first, second):
            client.disconnect()
            client.loop_stop()


def test_the_embedded_broker_tells_a_client_of_version_5_that_it_has_only_3(embedded_url):
    client = Listener(embedded_url, "five", protocol=mqtt.MQTTv5)
    assert wait_for(lambda: bool(client.codes))
    assert client.codes[0] == "Unsupported protocol version"
    client.leave()


def test_the_embedded_broker_ends_with_its_parent():
    port = free_port()
    program = [sys.executable, "-m", "sim_devices.network.embedded"]
    command = [*program, "--port", str(port), "--follow-stdin"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as child:
        assert wait_for(lambda: in_service(port))
        assert child.stdin is not None
        child.stdin.close()
        assert child.wait(PATIENCE) == 0


@pytest.mark.broker
def test_mosquitto_keeps_its_memory_over_a_clean_restart_and_its_port_over_a_kill(mosquitto):
    sender = Listener(mosquitto.url, "sender")
    sender.publish("task", b"contract", retain=True)
    sender.leave()
    before = mosquitto.url, mosquitto.pid
    assert mosquitto.restart() == before[0]
    assert mosquitto.pid != before[1]
    reader = Listener(mosquitto.url, "reader", "task")
    assert wait_for(lambda: bool(reader.got))
    assert reader.got == [("task", b"contract", True)]
    mosquitto.kill()
    assert mosquitto.pid is None
    assert not in_service(reader.address[1])
    assert mosquitto.restart() == before[0]
    assert wait_for(lambda: len(reader.codes) == 2), (
        "the client finds the broker again where it was"
    )
    reader.leave()


@pytest.mark.broker
def test_mosquitto_drops_nothing_of_a_long_queue(mosquitto_url):
    count = 2500  # the default keeps 1000 and tells the publisher that all is well
    absent = Listener(mosquitto_url, "absent", "report/+")
    absent.leave()
    sender = Listener(mosquitto_url, "sender")
    for k in range(count):
        sender.client.publish(f"report/{k}", b"r", qos=1)
    sender.publish("report/last", b"r")
    absent.come_back()
    assert wait_for(lambda: len(absent.got) == count + 1)
    sender.leave()
    absent.leave()


def test_nothing_is_left_behind():
    with LocalBroker() as broker:
        broker.start("embedded")
        pid = broker.pid
        directory = broker._directory
    assert broker.pid is None
    assert broker.url == ""
    assert directory is not None
    assert not os.path.exists(directory.name)
    assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_auto_takes_the_embedded_one_where_there_is_no_mosquitto(monkeypatch):
    monkeypatch.setattr(kinds, "find_mosquitto", lambda: None)
    with LocalBroker() as broker:
        broker.start("auto")
        assert broker.kind == "embedded"
    with LocalBroker() as broker, pytest.raises(BrokerError, match="install it"):
        broker.start("mosquitto")


@pytest.mark.broker
def test_a_broker_that_cannot_start_says_why(monkeypatch, mosquitto_url):
    monkeypatch.setattr(kinds, "MOSQUITTO_CONFIG", "no_such_option 1\n")
    with LocalBroker() as broker, pytest.raises(BrokerError, match="no_such_option"):
        broker.start("mosquitto")
