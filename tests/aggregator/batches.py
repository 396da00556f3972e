"""Aggregators that are driven by hand, batch by batch, and what they publish."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aggregator.core import Aggregator
from aggregator.publication import Publication
from aggregator.store.sqlite import SqliteStore
from fsir.task.task import Task
from fsir.wire.decode import decode
from fsir.wire.messages import Active, Receipt, Subspace, Verdict, report_id
from tests.aggregator.federations import report, topic


def start(path: Path, *tasks: Task, **options: Any) -> tuple[Aggregator, list[Publication]]:
    """An aggregator on the store at this path, and what it publishes at its start."""
    made = Aggregator(SqliteStore(path), tasks, **options)
    return made, made.start(0.0)


def started(path: Path, *tasks: Task, **options: Any) -> Aggregator:
    """An aggregator on the store at this path."""
    return start(path, *tasks, **options)[0]


def deliver(
    aggregator: Aggregator, task: Task, devices: range, now: float = 1.0, **changes: Any
) -> list[Publication]:
    """First reports of some devices, in one batch."""
    for i in devices:
        aggregator.take(topic(task, f"d{i}"), report(task, f"d{i}", i, **changes))
    return aggregator.commit(now)


def answer_to(aggregator: Aggregator, about: str, raw: bytes, now: float = 1.0) -> Receipt:
    """The receipt for one message on this topic."""
    aggregator.take(about, raw)
    (answer, *_) = aggregator.commit(now)
    receipt = decode(answer.payload, Receipt)
    assert answer.topic.endswith(f"/receipt/{receipt.device}")
    return receipt


def verdict_of(aggregator: Aggregator, about: str, raw: bytes, now: float = 1.0) -> Verdict:
    """What the sender of this message is told about it."""
    verdicts = answer_to(aggregator, about, raw, now).verdicts.values()
    return next(verdict for verdict in verdicts if verdict.report == report_id(raw))


def kinds(publications: list[Publication]) -> list[str]:
    """What is published: `task`, `receipt`, `active`, `subspace`."""
    return [publication.topic.split("/")[3] for publication in publications]


def active_of(publications: list[Publication]) -> Active:
    """The active set among what is published."""
    (body,) = [p.payload for p in publications if p.topic.endswith("/active")]
    return decode(body, Active)


def subspace_of(publications: list[Publication]) -> Subspace:
    """The subspace that is published, and nothing else."""
    (publication,) = publications
    return decode(publication.payload, Subspace)
