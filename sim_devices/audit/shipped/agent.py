"""The shipped path: from the records of a device to the bytes that it publishes,
through the real agent."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path as Directory
from typing import Any

import numpy as np

from edge_agent.agent import Agent, Publish
from edge_agent.consent.policy import Policy
from edge_agent.records import Position, Record
from edge_agent.state.state import State
from fsir.arrays import Matrix
from fsir.privacy.noise import Noise, SeededNoise
from fsir.task.task import Task
from fsir.wire.decode import decode
from fsir.wire.messages import Active, Ask, Receipt, encode, topic
from sim_devices.audit.pairs import AuditError


class NoPartError(AuditError):
    """An agent that refuses the task or stops, though its owner's cap is what the task claims."""


# Records and responses -> published bytes, in order.
Path = Callable[[Matrix, Sequence[Any]], list[bytes]]
Source = Callable[[], Noise]  # the noise of one more device
DEVICE = "canary"
_RETRY_TIMES = (0.0, 20.0, 2000.0, 4000.0)  # when an agent without a receipt is asked again


def source_of(seed: int) -> Source:
    """Noise that makes an attack repeatable; the audit itself never asks for it."""
    devices = itertools.count()
    return lambda: SeededNoise(seed, str(next(devices)))


@contextmanager
def started(
    task: Task,
    noise: Noise | None = None,
    directory: Directory | None = None,
    *,
    hold: bool = False,
) -> Iterator[Agent]:
    """An agent that has accepted the task; without `noise` it has its own, the system's.

    hold: it may hold its report, which takes more than the task claims. Extreme records would be
    held, and most questions are about reports."""
    policy = Policy(
        epsilon=task.privacy.epsilon * (2.0 if hold else 1.0),
        delta=task.privacy.delta,
        unproven=(task.privacy.mechanism,),
        version_1=not task.counts_refused,
        hold=hold,
        rounds=task.rounds,
    )
    simulated = noise is not None and not noise.cryptographic
    state = State(directory, DEVICE, simulated=simulated)
    try:
        agent = Agent(state, task.name, policy, noise=noise, simulated=simulated, quiet_seconds=0.0)
        agent.connected(0.0)
        agent.receive(topic(task.name, "task"), task.encode())
        _outgoing(agent, 0.0)  # asked and answered: a report may leave as soon as it is made
        yield agent
    finally:
        state.close()


def feed(agent: Agent, X: Matrix, y: Sequence[Any], *, one_by_one: bool = False) -> int:
    """Offer records in one of the two ways that an agent has; returns how many were used up."""
    if not one_by_one or agent.task is None:
        return agent.learn_many(X, np.asarray(y))
    names = agent.task.features.names
    used = 0
    while used < len(X) and agent.wants_records:
        position = Position(agent.position.ordinal + 1)
        values = dict(zip(names, X[used].tolist(), strict=True))
        agent.learn(Record(position, values, y[used]))
        used += 1
    return used


def sent(agent: Agent, task: Task, times: Sequence[float] = _RETRY_TIMES) -> list[bytes]:
    """The reports that an agent publishes, each retry included.

    An aggregator that answers every ask with yes lets them leave."""
    about = topic(task.name, "report", DEVICE)
    due = (message for now in times for message in _outgoing(agent, now))
    return [message.payload for message in due if message.topic == about]


def _outgoing(agent: Agent, now: float) -> list[Publish]:
    messages = agent.outgoing(now)
    asks = [message for message in messages if "/ask/" in message.topic]
    for message in asks:
        ask = decode(message.payload, Ask)
        receipt = Receipt(ask.task, ask.device, {}, ask.instance)
        agent.receive(topic(agent.name, "receipt", ask.device), encode(receipt))
    return messages + (agent.outgoing(now) if asks else [])


def tell_active(agent: Agent, task: Task) -> bool:
    """The active set, as a hostile server might choose it: the first features, whatever was
    reported. False if the task has only one stage."""
    if task.screening is None:
        return False
    features = task.features.names[: task.screening.limit]
    agent.receive(topic(task.name, "active"), encode(Active(task.digest, features, 1)))
    return True


def through_agent(
    task: Task, source: Source | None = None, *, replay: bool = False, one_by_one: bool = False
) -> Path:
    """What an agent publishes for this task: each different message once.
    `replay` feeds it its records again."""

    def publish(X: Matrix, y: Sequence[Any]) -> list[bytes]:
        with started(task, None if source is None else source()) as agent:
            used = feed(agent, X, y, one_by_one=one_by_one)
            seen = sent(agent, task)
            if tell_active(agent, task):
                start = 0 if replay else used
                feed(agent, X[start:], y[start:], one_by_one=one_by_one)
                seen += sent(agent, task)
            if agent.reason:
                raise NoPartError(f"the agent takes no part: {agent.reason}")
            if not seen:
                raise AuditError("the agent published nothing: too few records for a report")
            return list(dict.fromkeys(seen))

    return publish
