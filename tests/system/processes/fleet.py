"""A federation of real processes: mosquitto, `fsir-aggregator`, `fsir-agent`, and a listener."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import tomli_w
from paho.mqtt.client import MQTTMessage

from edge_agent.loop.ending import DONE, REFUSED
from edge_agent.mqtt.connection import Connection
from fsir.errors import MessageError
from fsir.net.broker import Broker
from fsir.wire.decode import decode
from fsir.wire.messages import Report, topic
from sim_devices.network.broker import LocalBroker
from tests.system.harness.books import Account, audit
from tests.system.harness.brokers import Mosquitto
from tests.system.harness.forkserver import Child, ForkServer
from tests.system.harness.one_hot import SECRET, Federation

PATIENCE_SECONDS = 40.0
CAUGHT_UP = "listener/caught-up"  # what the listener tells itself


class Processes:
    """A broker, an aggregator and agents, each a process of its own."""

    def __init__(
        self,
        federation: Federation,
        directory: Path,
        server: ForkServer,
        *broker_lines: str,
        broker: str = "mosquitto",
        stock: int | None = None,  # records that a device has at first; None: all
        second: Federation | None = None,
        shy: str = "",
    ) -> None:
        self.federation = federation
        self.directory = directory
        self._server = server
        self.federations = (federation,) if second is None else (federation, second)
        self._shy = shy  # the device whose owner refuses a task with the secret feature
        own = broker == "mosquitto"
        self.broker = Mosquitto("debian", broker_lines) if own else LocalBroker()
        self.url = self.broker.start(broker)
        self.options: list[str] = []
        self.tasks = [directory / f"{task.name}.toml" for task in self.federations]
        for path, task in zip(self.tasks, self.federations, strict=True):
            path.write_text(tomli_w.dumps(task.task().table()))
        for number, name in enumerate(federation.names()):
            self._write_policy(name)
            self.add_records(number, range(federation.stock if stock is None else stock))
        self.sent: dict[str, dict[str, set[bytes]]] = {  # by topic and stage
            topic(task.name, "report", name): {}
            for task in self.federations
            for name in federation.names()
        }
        self._caught_up = False
        topics = [topic(task.name, "report", "+") for task in self.federations] + [CAUGHT_UP]
        self._listener = Connection(Broker.parse(self.url), "listener", topics, self._heard)
        self.until(lambda: self._listener.up, "the listener does not connect")
        self.children: list[Child] = []

    def _write_policy(self, name: str) -> None:
        never = f'never_share = ["{SECRET}"]' if name == self._shy else ""
        policy = f'epsilon = 1000.0\nunproven = ["none"]\n{never}\n'
        (self.directory / f"{name}.toml").write_text(policy)

    def add_records(self, number: int, ordinals: range) -> None:
        """More records of a device."""
        records = (self.federation.record(number, k).x for k in ordinals)
        with (self.directory / f"{self.federation.names()[number]}.jsonl").open("a") as file:
            file.writelines(json.dumps(x) + "\n" for x in records)

    def _heard(self, message: MQTTMessage) -> None:
        self._caught_up |= message.topic == CAUGHT_UP
        raw = bytes(message.payload)
        try:
            report = decode(raw, Report)
        except MessageError:
            return
        if message.topic in self.sent and message.topic.endswith(f"/{report.device}"):
            self.sent[message.topic].setdefault(report.stage, set()).add(raw)

    def listener_publishes(self, where: str, payload: bytes, retain: bool = False) -> None:
        """A message of somebody else."""
        self._listener.publish(where, payload, retain)
        self._listener.step(time.monotonic())

    def until(self, true: Callable[[], bool], what: str, *children: Child) -> None:
        """Listen until something is so; else say what is not, and what these have said."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not true():
            if time.monotonic() > deadline:
                pytest.fail("\n".join([what, *(child.said()[-2000:] for child in children)]))
            self._listener.step(time.monotonic())
            time.sleep(0.005)

    def aggregator(self, url: str = "", **options: object) -> Child:
        """Start the aggregator."""
        child = self._server.start(
            "serve",
            self.directory / "aggregator.log",
            task=[str(path) for path in self.tasks],
            url=url or self.url,
            store=str(self.directory / "store.db"),
            **options,
        )
        self.children.append(child)
        return child

    def arguments(self, name: str, url: str = "", state: str = "") -> list[str]:
        """Of `fsir-agent`."""
        files = self.directory / name
        options = {
            "--broker": url or self.url,
            "--device": name,
            "--source": f"jsonl:{files}.jsonl",
            "--state": str(self.directory / (state or name)),
            "--policy": f"{files}.toml",
            "--output": str(self.directory / "served"),
            "--save-every": "0.05",
        }
        tasks = [f"--task={task.name}" for task in self.federations]
        pairs = [part for option in options.items() for part in option]
        return ["run", *tasks, *pairs, "--once", *self.options]

    def agent(self, name: str, url: str = "", state: str = "", **options: object) -> Child:
        """Start an agent, on a state directory of its name or of another."""
        log = self.directory / f"{state or name}.log"
        arguments = self.arguments(name, url, state)
        child = self._server.start("agent", log, arguments=arguments, **options)
        self.children.append(child)
        return child

    def finish(self, url: str = "", **options: object) -> list[str]:
        """Start everything, wait until all agents have ended well; what is wrong then."""
        server = self.aggregator(url, **options)
        agents = {name: self.agent(name, url) for name in self.federation.names()}
        for name, agent in agents.items():
            self.until(
                lambda agent=agent: agent.poll() is not None, "an agent does not end", agent, server
            )
            refuses = name == self._shy and any(task.secret for task in self.federations)
            assert agent.poll() == (REFUSED if refuses else DONE), agent.said()
        self._catch_up()
        server.kill()
        return [line for task in self.federations for line in self._audit(task)]

    def _catch_up(self) -> None:
        """Hear all that was sent until now: a broker hands over in order."""
        self._caught_up = False
        self.listener_publishes(CAUGHT_UP, b"")
        self.until(lambda: self._caught_up, "the listener does not hear itself")

    def _audit(self, task: Federation) -> list[str]:
        accounts = [
            Account(
                number=number,
                name=name,
                state=self.directory / name,
                sent=self.sent[topic(task.name, "report", name)],
                refuses=task.secret and name == self._shy,
            )
            for number, name in enumerate(task.names())
        ]
        return audit(task, self.directory / "store.db", accounts)

    def close(self) -> None:
        """Leave nothing behind."""
        for child in self.children:
            child.kill()
        self._listener.close()
        self.broker.close()
