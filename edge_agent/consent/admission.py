"""Whether a device takes part in a task: its owner's policy, and what it has spent and promised."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from edge_agent.consent.budget import Cost
from edge_agent.consent.policy import Policy, planned
from edge_agent.errors import SourceError, StateError
from edge_agent.exchange.inbox import read_task
from edge_agent.sources.base import Source
from edge_agent.state.rows import LedgerRow, Pin
from edge_agent.state.state import State
from fsir.privacy.plan import FINAL, SCREENING
from fsir.task.task import Task


@dataclass(frozen=True)
class Feed:
    """The source of an agent's records, as far as the budget is concerned."""

    name: str = "memory"
    replayable: bool = True
    stream: str = ""  # where it is not the name: see `Source.stream`
    unit_records: int = 1  # records that one reading can touch

    @classmethod
    def of(cls, source: Source) -> Feed:
        """What the budget needs to know of a source."""
        try:
            unit_records = source.unit_records
        except AttributeError:  # of another package, and written for what was asked of it then
            raise SourceError(
                f"source {source.name}: it does not say how many consecutive records one reading "
                "can touch; its class must have unit_records, which is 1 where none overlap"
            ) from None
        return cls(source.name, source.replayable, source.stream, unit_records)

    @property
    def identity(self) -> str:
        """The name under which the ledger knows the records."""
        return self.stream or self.name


def cost_of(row: LedgerRow) -> Cost:
    """What a release has cost, and on which records."""
    return Cost(mu=row.mu, numbers=row.numbers, source=row.source, first=row.first, last=row.last)


def refusals(state: State, task: Task, policy: Policy, feed: Feed) -> list[str]:
    """Why the device does not take part; empty if it does."""
    if reasons := policy.refusals(task):
        return reasons
    if task.privacy.unit_records < feed.unit_records:
        return [
            f"it protects {task.privacy.unit_records} record(s) together, and one reading of "
            f"{feed.name} is in {feed.unit_records} of them; "
            f"the task must say unit_records = {feed.unit_records}"
        ]
    ledger = state.ledger()
    left = _left(state, task, feed, ledger)
    spent = [cost_of(row) for row in ledger]
    for pin in state.pins():  # other tasks have been promised their budget, and may report first
        if pin.name != task.name and not pin.stopped:
            other = read_task(pin.raw, pin.name)
            spent += _left(state, other, Feed(pin.source), ledger)
    return policy.over_budget(left, spent) if left else []


def _left(state: State, task: Task, feed: Feed, ledger: list[LedgerRow]) -> list[Cost]:
    """The releases that a task may still make."""
    made = {row.stage for row in ledger if row.digest == task.digest}
    if FINAL in made:
        return []
    progress = state.progress(task.name)
    behind = (
        state.position(task.name, feed.name) if feed.replayable else state.last_position(feed.name)
    )
    first = behind.ordinal + 1 if progress.first is None else progress.first
    costs = planned(task, feed.identity, first)
    return costs[1:] if SCREENING in made and not task.asks_for_fresh_records else costs


def check_source(state: State, pin: Pin, made: Collection[str], feed: Feed) -> None:
    """Let a task go on with another source, unless that may hold the records it has learned."""
    if pin.source == feed.name:
        return
    progress = state.progress(pin.name)
    if FINAL not in made and (progress.first is not None or SCREENING in made):
        raise StateError(
            f"task {pin.name!r} has learned from {pin.source}: go on with it, "
            f"because {feed.name} may hold the same records "
            f"(or give that up: fsir-agent forget --task {pin.name} --unpin)"
        )
    state.move(pin.name, feed.name)
