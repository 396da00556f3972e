"""One federation as the aggregator sees it: layout of reports, merged integers, active set."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from aggregator.glance.reports import Form
from aggregator.publication import Publication
from aggregator.store.base import Store
from aggregator.store.rows import PublishedRow, TaskRow, TotalsRow
from fsir.arrays import Flags, Integers
from fsir.contract import decode_task
from fsir.errors import AccumulatorError, TaskError
from fsir.estimate import screening
from fsir.estimate.totals import Totals
from fsir.privacy.plan import FINAL, Stage, final_stage, first_stage
from fsir.task.task import OLDEST_VERSION, Screening, Task
from fsir.wire.decode import decode
from fsir.wire.messages import Active, Report, topic
from fsir.wire.plausible import Plausibility, allowed_sizes
from fsir.wire.sealed import SealedReport

ROOM = 2**62  # the largest merged integer that leaves room for more ...
AT_ONCE = 128  # ... which are so many reports


@dataclass(frozen=True, kw_only=True)
class Layout:
    """What a report of one stage holds: a row of integers.

    They are either noisy blocks or the votes for each feature.
    """

    name: str
    stage: Stage
    votes: bool
    sizes: tuple[int, ...]
    plausibility: Plausibility
    form: Form | None  # None: votes, which are looked at closely

    @property
    def width(self) -> int:
        """Integers in one row."""
        return self.stage.p if self.votes else sum(self.sizes)

    @classmethod
    def of(cls, task: Task, stage: Stage, votes: bool) -> Layout:
        """The layout of a stage of a task."""
        return cls(
            name=stage.name,
            stage=stage,
            votes=votes,
            sizes=stage.sizes,
            plausibility=Plausibility(stage),
            form=None if votes else _form(task, stage),
        )


def _form(task: Task, stage: Stage) -> Form:
    rounds = _rounds(task, stage.name)
    return Form(task.digest, stage.name, stage.sizes, allowed_sizes(task), rounds)


def _rounds(task: Task, stage: str) -> int:
    return task.rounds if stage == FINAL else 1


def as_begun(store: Store, task: Task) -> Task:
    """The task in the version in which the store has begun it.

    A file that says no version is of the newest one; under it devices would see another task, and
    what they have sent would belong to none.
    """
    first = replace(task, version=OLDEST_VERSION)
    known = {row.digest for row in store.tasks()}
    return first if first.digest in known and task.digest not in known else task


def stored(store: Store, row: TaskRow) -> Federation:
    """A federation as far as the store knows it."""
    federation = Federation(decode_task(row.body))
    federation.key = row.key
    active = store.published(row.key, "active")
    if active is not None:
        federation.pin(active.body)
    return federation


def tally(votes: Flags) -> Integers:
    """How many slices a device votes in for each feature, from its votes, p x slices."""
    slices: Integers = votes.sum(axis=1, dtype=np.int64)
    return slices


class Federation:
    """A task, and what follows from it and from its active set once there is one."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.name = task.name
        self.body = task.encode()
        self.digest = task.digest
        self.key = 0  # in the store
        self.by = ""  # which of two aggregators this is, if there are two
        self.editions: dict[bytes, int] = {}  # digests and keys of all that had this name
        self.records = allowed_sizes(task)
        self.first = first_stage(task).name  # the stage that an unreadable report most likely meant
        self.active: bytes | None = None  # the message, once it is pinned
        self.shown: dict[str, PublishedRow] = {}  # what this worker has published last, by kind
        self.fruitless = 0  # devices whose trimmed screening reports gave no active set
        self.layouts = {self.first: Layout.of(task, first_stage(task), task.screens_by_votes)}

    def rounds(self, stage: str) -> int:
        """How many reports of a stage each device may send."""
        return _rounds(self.task, stage)

    def follows(self, stage: str) -> bool:
        """Whether a stage has several rounds: then it matters which of them each device has."""
        return self.rounds(stage) > 1

    def glance(self, raw: bytes, device: str) -> SealedReport | None:
        """The report in bytes that nothing is wrong with at first sight, or None."""
        for layout in self.layouts.values():
            report = None if layout.form is None else layout.form.read(raw, device)
            if report is not None:
                return report
        return None

    def pin(self, active: bytes) -> None:
        """Take the active set that was published; from now on final reports have a layout."""
        self.layouts[FINAL] = self.layout_of(active)
        self.active = active

    def layout_of(self, active: bytes) -> Layout:
        """The layout of final reports about an active set; an error if it is none of this task."""
        message = decode(active, Active)
        features = self.task.features
        if message.task != self.digest or features.unknown(message.features):
            raise TaskError(
                "active set", message.features[:3], f"does not belong to task {self.name!r}"
            )
        stage = final_stage(self.task, features.indices(message.features))
        return Layout.of(self.task, stage, False)

    def show(self, kind: str, row: PublishedRow) -> Publication:
        """What is stored is on its way to the broker; not before it is committed."""
        self.shown[kind] = row
        return Publication(topic(self.name, kind), row.body)

    def values(self, raw: bytes) -> Integers:
        """The integers of a stored report, as they were added to the totals."""
        report = decode(raw, Report)
        return tally(report.votes) if report.votes is not None else np.concatenate(report.blocks)

    def totals(self, row: TotalsRow, stage: str = FINAL) -> Totals:
        """The merged release of a stage."""
        totals = Totals(self.layouts[stage].stage)
        totals.n = row.records
        totals.devices = row.devices
        values = np.frombuffer(row.values, "<i8")
        start = 0
        for block in totals.blocks if row.values else ():
            block[...] = values[start : start + len(block)]
            start += len(block)
        return totals

    def choose(self, rule: Screening, row: TotalsRow, totals: Totals | None) -> Active | None:
        """The active set from merged sums (`totals`) or, without them, votes (`row`).

        None while nothing stands out.
        """
        chosen = _most_voted(rule, row) if totals is None else screening.select(rule, totals)
        if not chosen:
            return None
        names = self.task.features.names
        return Active(self.digest, tuple(names[j] for j in chosen), row.devices)


def _most_voted(rule: Screening, row: TotalsRow) -> tuple[int, ...]:
    votes = np.frombuffer(row.values, "<i8")
    chosen = screening.majority(votes, row.devices)
    if len(chosen) <= rule.limit:
        return chosen
    # A device refuses more; the features with most votes stay.
    return tuple(sorted(sorted(chosen, key=lambda j: (-votes[j], j))[: rule.limit]))


def add(row: TotalsRow, values: Integers, devices: int, records: int) -> TotalsRow:
    """Totals with more (or, negative, fewer) reports in them."""
    merged = np.frombuffer(row.values, "<i8") + values if row.values else values
    # One report holds values below 2^54, and at most AT_ONCE are in `values`: nothing can have
    # wrapped round yet.
    if len(merged) and max(int(merged.max()), -int(merged.min())) > ROOM:
        raise AccumulatorError(
            f"the sums of {row.devices} devices are at the end of 64 bits; start a new epoch"
        )
    return TotalsRow(
        devices=row.devices + devices,
        records=row.records + records,
        change=row.change + 1,
        values=merged.astype("<i8").tobytes(),
    )
