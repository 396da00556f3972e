"""A federation that goes on, beside one that reported once and beside none, round by round."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fsir.estimate.rounds.memory import remember, totals_of
from fsir.estimate.subspace import estimate
from fsir.task.task import Task
from fsir.wire.messages import Subspace
from sim_devices.scenarios.evaluation import accuracy, without_reports
from sim_devices.stream.rounds import Fleet
from sim_devices.stream.sources import Source


@dataclass(frozen=True, kw_only=True)
class Point:
    """How good each is for people who take no part, on what they record in this round."""

    round: int
    followed: float  # accuracy, as all the others
    once: float
    alone: float  # the public sample, with no federation
    expected: float | None  # what the followed estimate says of its own accuracy
    error: float  # the expected error of the followed subspace
    error_once: float
    since: int  # the first round that is remembered
    drift: int | None  # since when something has changed, as far as the rounds tell


def follow(source: Source, task: Task, single: Task, rounds: int, seed: int) -> Iterator[Point]:
    """Round after round. `single` is the task of those who report once, with its smaller noise."""
    fleet = Fleet(task, seed)
    alone = without_reports(single)
    once: Subspace | None = None
    for number in range(1, rounds + 1):
        recorded = source.round(number)
        fleet.report(number, recorded.devices)
        if once is None:
            first = Fleet(single, seed)
            first.report(1, recorded.devices)
            totals = totals_of(first.history, {1: 1.0})
            totals.devices = first.devices([1])
            once = estimate(single, totals)
        kept = remember(task, fleet.history)
        kept.totals.devices = fleet.devices(kept.weights)
        found = estimate(task, kept.totals, version=number)
        yield Point(
            round=number,
            followed=accuracy(task, found, recorded.unseen),
            once=accuracy(single, once, recorded.unseen),
            alone=accuracy(single, alone, recorded.unseen),
            expected=found.expected_accuracy,
            error=found.expected_error,
            error_once=once.expected_error,
            since=kept.since,
            drift=None if kept.drift is None else kept.drift.since,
        )
