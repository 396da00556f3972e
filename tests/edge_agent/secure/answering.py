"""Two aggregators as a device sees them: hand-made receipts of leader and helper."""

from __future__ import annotations

from typing import Any

from edge_agent.agent import Agent
from edge_agent.exchange.outbox import Publish
from edge_agent.state.state import State
from fsir.secure.report import ShareReader
from fsir.secure.ring import ring_of
from fsir.task.secure import HELPER, LEADER
from fsir.task.task import Task
from fsir.wire.decode import decode
from fsir.wire.messages import Ask, Receipt, Verdict, encode, receipt_topic, report_id
from fsir.wire.shared import decode_shared
from tests.aggregator.secure.pair import PAIRS, secure_task
from tests.edge_agent.world import DEVICE, Welcome, data, simulated

TASK = secure_task(4, cohort=5)


class Led(Welcome):
    """An agent whose asks both answer with yes."""

    def outgoing(self, now: float) -> list[Publish]:
        sent = Agent.outgoing(self, now)
        asks = [message for message in sent if "/ask/" in message.topic]
        for message in asks:
            ask = decode(message.payload, Ask)
            for by in (LEADER, HELPER):
                self.receive(*yes(ask, by, self.name))
        others = [message for message in sent if message not in asks]
        return others + (Agent.outgoing(self, now) if asks else [])


def yes(ask: Ask, by: str, name: str = TASK.name) -> tuple[str, bytes]:
    """What one of the two answers to a device of which it knows nothing yet."""
    receipt = Receipt(ask.task, ask.device, {}, ask.instance, by)
    return receipt_topic(name, ask.device, by), encode(receipt)


def led(task: Task = TASK, state: State | None = None, **settings: Any) -> Agent:
    """An agent in memory that has seen a task with two aggregators."""
    return simulated(task, state=state, kind=Led, **settings)


def reported(task: Task = TASK, state: State | None = None) -> tuple[Agent, Publish]:
    """A device that has sent its report."""
    agent = led(task, state)
    agent.learn_many(*data(task, task.report.records or 0))
    (sent,) = agent.outgoing(1.0)
    return agent, sent


def answer(
    sent: Publish, by: str, status: str = "counted", reason: str = "", *, task: Task = TASK
) -> tuple[str, bytes]:
    """What one of the two says about a report: topic and payload."""
    report = decode_shared(sent.payload)
    verdict = Verdict(report_id(sent.payload), status, reason, report.round)
    receipt = Receipt(task.digest, DEVICE, {report.stage: verdict}, by=by)
    return receipt_topic(task.name, DEVICE, by), encode(receipt)


def opened_alone(task: Task, stage: Any, payload: bytes) -> list[int]:
    """What leader and helper would see of one report if they colluded."""
    report = decode_shared(payload)
    ring = ring_of(task, stage)
    shares = []
    for role in (LEADER, HELPER):
        reader = ShareReader(task, stage, role, PAIRS[role])
        shares.append(reader.share(reader.payload(report)))
    return ring.lift(ring.added(shares)).tolist()
