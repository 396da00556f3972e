"""What the tests of the agent share: agents in memory, records, and the messages of a server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from edge_agent.agent import Agent
from edge_agent.consent.policy import Policy
from edge_agent.exchange.outbox import Publish
from edge_agent.records import Position, Record
from edge_agent.state.state import State
from fsir.privacy.noise import SeededNoise
from fsir.task.task import Task
from fsir.wire import messages
from fsir.wire.decode import decode
from fsir.wire.messages import Active, Ask, Receipt, Report, Subspace, Verdict, encode, topic

DEVICE = "dev-1"
WILLING = Policy(epsilon=1e3, unproven=("none", "vgm", "iid"))


class Welcome(Agent):
    """An agent whose asks are answered with yes as soon as they leave, and are not shown."""

    def outgoing(self, now: float) -> list[Publish]:
        messages = super().outgoing(now)
        asks = [message for message in messages if "/ask/" in message.topic]
        for message in asks:
            self.receive(*answer(self.name, decode(message.payload, Ask)))
        others = [message for message in messages if message not in asks]
        return others + (super().outgoing(now) if asks else [])


def answer(name: str, ask: Ask, number: bytes = b"", **verdicts: Verdict) -> tuple[str, bytes]:
    """The aggregator's answer to an ask, topic and payload: with this number, or with yes."""
    raw = encode(Receipt(ask.task, ask.device, verdicts, number or ask.instance))
    return topic(name, "receipt", ask.device), raw


def simulated(
    task: Task,
    *,
    state: State | None = None,
    seed: int = 0,
    kind: type[Agent] = Welcome,
    **settings: Any,
) -> Agent:
    """An agent in memory with reproducible noise, connected at time 0, that has seen the task."""
    state = state or State(None, DEVICE, simulated=True)
    settings.setdefault("noise", SeededNoise(seed, DEVICE))
    settings.setdefault("quiet_seconds", 0.0)
    if not task.counts_refused:  # then its owner has accepted that
        settings["policy"] = (settings.get("policy") or Policy())._replace(version_1=True)
    agent = kind(state, task.name, simulated=True, **settings)
    agent.connected(0.0)
    agent.receive(topic(task.name, "task"), task.encode())
    return agent


def data(task: Task, n: int, seed: int = 0) -> tuple[Any, list[str]]:
    """Rows over the features of a task, and classes."""
    X = np.random.default_rng(seed).normal(size=(n, task.p))
    slices = np.random.default_rng(seed + 1).integers(0, 3, n)
    return X, [task.response.classes[int(h)] for h in slices]


def records(task: Task, n: int, start: int = 0, seed: int = 0) -> list[Record]:
    """The same as records of a source, the response among the values."""
    X, y = data(task, start + n, seed)
    rows = list(zip(X.tolist(), y, strict=True))[start:]
    return [
        Record(
            Position(start + i),
            dict(zip(task.features.names, row, strict=True)) | {task.response.name: label},
        )
        for i, (row, label) in enumerate(rows)
    ]


def one_hot(task: Task, j: int) -> dict[str, Any]:
    """Record number j: 1 in feature j, 0 elsewhere.

    Any sum other than 0 or 1 names what was lost or doubled.
    """
    values = {name: float(k == j) for k, name in enumerate(task.features.names)}
    return values | {task.response.name: "a"}


def reports(sent: Iterable[Publish]) -> list[Report]:
    """The reports among messages."""
    return [decode(message.payload, Report) for message in sent if "/report/" in message.topic]


def receipt(
    task: Task, sent: Iterable[Publish], status: str = "counted", reason: str = ""
) -> tuple[str, bytes]:
    """The aggregator's answer to what a device has sent: topic and payload."""
    verdicts = {}
    for message in sent:
        report = decode(message.payload, Report)
        which = messages.report_id(message.payload)
        verdicts[report.stage] = Verdict(which, status, reason, report.round)
    return topic(task.name, "receipt", DEVICE), encode(Receipt(task.digest, DEVICE, verdicts))


def active(task: Task, *features: str) -> tuple[str, bytes]:
    """An active set: topic and payload."""
    return topic(task.name, "active"), encode(Active(task.digest, features, 3))


def subspace(
    task: Task, features: tuple[str, ...], d: int = 1, **changes: Any
) -> tuple[str, bytes]:
    """A subspace: topic and payload."""
    values = {
        "task": task.digest,
        "version": 1,
        "features": features,
        "basis": np.eye(len(features))[:, :d],
        "singular_values": np.ones(d),
        "noise_level": 0.1,
        "expected_error": 0.1,
        "devices": 3,
        "records": 300,
    }
    return topic(task.name, "subspace"), encode(Subspace(**(values | changes)))
