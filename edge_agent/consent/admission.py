"""Whether a device takes part in a task: its owner's policy, and what it has spent and promised."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from importlib.util import find_spec
from typing import NamedTuple

from edge_agent.consent.budget import Cost
from edge_agent.consent.groups import Group
from edge_agent.consent.planned import planned, planned_stages
from edge_agent.consent.policy import Policy
from edge_agent.consent.sharing import label_refusals
from edge_agent.errors import SourceError, StateError
from edge_agent.exchange.inbox import read_task
from edge_agent.sources.base import Source
from edge_agent.state.made import Made, last_reports, last_round
from edge_agent.state.rows import LedgerRow, Pin
from edge_agent.state.state import State
from fsir.net.installed import how_to_install
from fsir.privacy.plan import FINAL, SCREENING, all_stages
from fsir.task.task import Task

log = logging.getLogger("fsir.agent")
_SEALING = "cryptography.hazmat.primitives.hpke"  # of the extra [secure]
_KEPT_ACROSS_RUNS = "a file, or a topic with --record-id, goes on where it was (docs/privacy.md)"


class Feed(NamedTuple):
    """The source of an agent's records, as far as the budget is concerned."""

    name: str = "memory"
    replayable: bool = True
    stream: str = ""  # where it is not the name: see `Source.stream`
    unit_records: int = 1  # records that one reading can touch
    label: str | None = ""  # see `Source.label`; None: nobody knows

    @classmethod
    def of(cls, source: Source, *, pressed: bool = False) -> Feed:
        """What the budget needs to know of a source, whose records may get labels that are pressed.

        A source of another package may not say what its label is called.
        """
        try:
            unit_records = source.unit_records
        except AttributeError:  # of another package, and written for what was asked of it then
            raise SourceError(
                f"source {source.name}: it does not say how many consecutive records one reading "
                "can touch; its class must have unit_records, which is 1 where none overlap"
            ) from None
        label = getattr(source, "label", None)
        if label == "" and pressed:
            from edge_agent.sources.samples import LABEL

            label = LABEL
        return cls(
            name=source.name,
            replayable=source.replayable,
            stream=source.stream,
            unit_records=unit_records,
            label=label,
        )

    @property
    def lasts(self) -> bool:
        """Whether its records are known from run to run, so that learning goes on."""
        return self.identity == self.name

    @property
    def identity(self) -> str:
        """The name under which the ledger knows the records."""
        return self.stream or self.name


def cost_of(row: LedgerRow) -> Cost:
    """What a release has cost, and on which records."""
    return Cost(
        mu=row.mu,
        numbers=row.numbers,
        source=row.source,
        first=row.first,
        last=row.last,
        unit_records=row.unit_records,
        chain=row.digest if row.is_correlated else b"",
    )


def refusals(state: State, task: Task, policy: Policy, feed: Feed) -> list[str]:
    """Why the device does not take part; empty if it does."""
    pin = state.pinned(task.name)
    begun = pin is not None and pin.raw == task.encode()
    asked = policy.refusals(task, begun=begun)
    if reasons := [*asked, *label_refusals(feed.label, policy.never_share)]:
        return reasons
    if reasons := unable(task):
        return reasons
    if task.privacy.unit_records < feed.unit_records:
        return [
            f"it protects {task.privacy.unit_records} record(s) together, and one reading of "
            f"{feed.name} is in {feed.unit_records} of them; "
            f"the task must say unit_records = {feed.unit_records}"
        ]
    left, others = _claims(state, task, feed)
    if not left:
        return []
    groups = groups_of(state.ledger(), _promised(state, task, feed))
    return [*policy.over_budget(left, others), *policy.over_group_budget(groups)]


def unable(task: Task) -> list[str]:
    """Why this device could not make the reports of a task, whatever its owner wants."""
    if task.secure is None or _is_installed(_SEALING):
        return []
    return [
        "its reports go to two aggregators in sealed shares, which needs the package cryptography, "
        f"version 50 or later; {how_to_install('secure')}"
    ]


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # not even the package that it would be in
        return False


def has_room(state: State, task: Task, policy: Policy, feed: Feed, extra: Cost) -> bool:
    """Whether one more release would leave enough for all that is promised."""
    left, others = _claims(state, task, feed)
    groups = [*groups_of(state.ledger(), _promised(state, task, feed)), Group([extra])]
    return not policy.over_budget([*left, extra], others) and not policy.over_group_budget(groups)


def _promised(state: State, task: Task, feed: Feed) -> list[tuple[Task, str]]:
    """The tasks that may still report, each with its source."""
    pins = [pin for pin in state.pins() if pin.name != task.name and not pin.stopped]
    others = [(read_task(pin.raw, pin.name), pin.source) for pin in pins]
    return [*others, (task, feed.identity)]


def groups_of(
    ledger: Iterable[LedgerRow], promised: Iterable[tuple[Task, str]] = ()
) -> list[Group]:
    """What is released, and promised to these tasks, each task and stage by itself."""
    costs: dict[tuple[bytes, str], list[Cost]] = {}
    for row in ledger:
        costs.setdefault((row.digest, row.stage), []).append(cost_of(row))
    tasks = {}
    for task, source in promised:
        tasks[task.digest, FINAL] = task
        for stage, cost in zip(all_stages(task), planned_stages(task, source), strict=True):
            made = costs.setdefault((task.digest, stage.name), [])
            # A round more about new records costs no more than those that were made.
            if source not in {other.source for other in made}:
                made.append(cost)
    return [Group(some, tasks.get(which)) for which, some in costs.items()]


def _claims(state: State, task: Task, feed: Feed) -> tuple[list[Cost], list[Cost]]:
    """What a task may still cost, and what else is spent or promised."""
    ledger = state.ledger()
    others = [cost_of(row) for row in ledger]
    for pin in state.pins():  # other tasks have been promised their budget, and may report first
        if pin.name != task.name and not pin.stopped:
            other = read_task(pin.raw, pin.name)
            others += _left(state, other, Feed(pin.source), ledger)
    return _left(state, task, feed, ledger), others


def _left(state: State, task: Task, feed: Feed, ledger: list[LedgerRow]) -> list[Cost]:
    """The releases that a task may still make."""
    made = last_reports(ledger, task.digest)
    if last_round(made) >= task.rounds:
        return []
    progress = state.progress(task.name)
    behind = (
        state.position(task.name, feed.name) if feed.replayable else state.last_position(feed.name)
    )
    first = behind.ordinal + 1 if progress.first is None else progress.first
    costs = planned(task, feed.identity, first)
    screened = SCREENING in made and not task.asks_for_fresh_records
    return costs[-1:] if screened or FINAL in made else costs


def check_source(state: State, pin: Pin, task: Task, made: Made, feed: Feed) -> None:
    """Let a task go on with another source, unless that may hold the records it has learned."""
    if pin.source == feed.name:
        return
    progress = state.progress(pin.name)
    if last_round(made) < task.rounds and (progress.first is not None or made):
        raise StateError(
            f"task {pin.name!r} has learned from {pin.source}: go on with it, "
            f"because {feed.name} may hold the same records "
            f"(or give that up: fsir-agent forget --task {pin.name} --unpin)"
        )
    state.move(pin.name, feed.name)


def follow_stream(state: State, task: Task, made: Made, feed: Feed) -> None:
    """Let a task go on with what it has learned, unless its records may come once more.

    A source that cannot number its records across runs is another stream in each: what it brings
    may be what it has brought, so that learning from both could count a record twice. What was
    learned and not reported is dropped. Records of a first report are all there: no other joins
    them.
    """
    before = state.stream(task.name) or _source_of(state, task.name)
    if before == feed.identity:
        return
    progress = state.progress(task.name)
    reported = set(made) == {SCREENING} and not task.asks_for_fresh_records
    drop = progress.first is not None and not reported
    state.follow(task.name, feed.identity, drop=drop)
    if drop:
        log.warning(
            "%s: what was learned and not reported is dropped: %s may bring the same records "
            "again, and none may count twice; %s",
            task.name,
            feed.name,
            _KEPT_ACROSS_RUNS,
        )


def _source_of(state: State, name: str) -> str:
    pin = state.pinned(name)
    return "" if pin is None else pin.source
