"""A federation of real processes: mosquitto, `fsir-aggregator` and `fsir-agent`, and a listener at the broker."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

from paho.mqtt.client import MQTTMessage

from edge_agent.connection import Broker, Connection
from fsir.decode import decode
from fsir.errors import MessageError
from fsir.messages import Report, topic
from fsir.toml import to_toml
from tests.system.books import Account, audit
from tests.system.brokers import Mosquitto
from tests.system.forkserver import Child, ForkServer
from tests.system.one_hot import Federation

PATIENCE = 40.0


class Processes:
    """A broker, an aggregator and agents, each a process of its own."""

    def __init__(self, federation: Federation, directory: Path, server: ForkServer, *broker_lines: str) -> None:
        self.federation, self.directory, self._server = federation, directory, server
        self.broker = Mosquitto("debian", broker_lines)
        self.url = self.broker.start("mosquitto")
        self.options: list[str] = []
        (directory / "task.toml").write_text(to_toml(federation.task().table()))
        (directory / "policy.toml").write_text('epsilon = 1000.0\nunproven = ["none"]\n')
        for k, name in enumerate(federation.names()):
            records = (federation.record(k, i).x for i in range(federation.stock))
            (directory / f"{name}.jsonl").write_text("".join(json.dumps(x) + "\n" for x in records))
        self.sent: dict[str, dict[str, set[bytes]]] = {name: {} for name in federation.names()}
        self._listener = Connection(Broker.parse(self.url), "listener", [topic("one-hot", "report", "+")], self._heard)
        self.until(lambda: self._listener.up, "the listener does not connect")
        self.children: list[Child] = []

    def _heard(self, message: MQTTMessage) -> None:
        raw, device = bytes(message.payload), message.topic.rpartition("/")[2]
        try:
            report = decode(raw, "report")
        except MessageError:
            return
        assert isinstance(report, Report)
        if device in self.sent and device == report.device:
            self.sent[device].setdefault(report.stage, set()).add(raw)

    def listener_publishes(self, where: str, payload: bytes, retain: bool = False) -> None:
        """A message of somebody else."""
        self._listener.publish(where, payload, retain)
        self._listener.step(time.monotonic())

    def until(self, true: Callable[[], bool], what: str, *children: Child) -> None:
        """Listen until something is so; else say what is not, and what these processes have said."""
        deadline = time.monotonic() + PATIENCE
        while not true():
            assert time.monotonic() < deadline, "\n".join([what, *(child.said()[-2000:] for child in children)])
            self._listener.step(time.monotonic())
            time.sleep(0.005)

    def aggregator(self, url: str = "", **options: object) -> Child:
        """Start the aggregator."""
        child = self._server.start(
            "serve", self.directory / "aggregator.log", task=str(self.directory / "task.toml"), url=url or self.url,
            store=str(self.directory / "store.db"), **options,
        )  # fmt: skip
        self.children.append(child)
        return child

    def arguments(self, name: str, url: str = "") -> list[str]:
        """Of `fsir-agent`."""
        return [
            "run", "--broker", url or self.url, "--task", "one-hot", "--device", name, "--source",
            f"jsonl:{self.directory / name}.jsonl", "--state", str(self.directory / name), "--policy",
            str(self.directory / "policy.toml"), "--output", str(self.directory / "served"), "--save-every", "0.05",
            "--once", *self.options,
        ]  # fmt: skip

    def agent(self, name: str, url: str = "", **options: object) -> Child:
        """Start an agent."""
        child = self._server.start(
            "agent", self.directory / f"{name}.log", arguments=self.arguments(name, url), **options
        )
        self.children.append(child)
        return child

    def finish(self, url: str = "", **options: object) -> list[str]:
        """Start everything, wait until all agents have ended well; what is wrong then."""
        server = self.aggregator(url, **options)
        agents = [self.agent(name, url) for name in self.federation.names()]
        for agent in agents:
            self.until(lambda agent=agent: agent.poll() is not None, "an agent does not end", agent, server)
            assert agent.poll() == 0, agent.said()
        server.kill()
        accounts = [
            Account(k, name, self.directory / name, self.sent[name]) for k, name in enumerate(self.federation.names())
        ]
        return audit(self.federation, self.directory / "store.db", accounts)

    def close(self) -> None:
        """Leave nothing behind."""
        for child in self.children:
            child.kill()
        self._listener.close()
        self.broker.close()
