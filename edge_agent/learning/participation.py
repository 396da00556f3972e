"""A device's part in one task that it has accepted: what it learns, and the one report per stage that it makes."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edge_agent.consent.admission import Feed, cost_of
from edge_agent.consent.budget import numbers_in
from edge_agent.consent.policy import Policy
from edge_agent.errors import StateError
from edge_agent.labels.timeline import NO_LABEL
from edge_agent.learning.learner import MomentsLearner, RowsLearner, moments_of
from edge_agent.learning.report import report_bytes
from edge_agent.records import Position, Record
from edge_agent.state.rows import LedgerRow, OutboxRow, Pin, Progress
from edge_agent.state.state import State
from fsir.limits import LIMITS
from fsir.privacy.moments import Moments
from fsir.privacy.noise import Noise
from fsir.privacy.plan import (
    FINAL,
    SCREENING,
    Stage,
    final_stage,
    first_stage,
    minimum_size,
    report_size,
)
from fsir.task.slicing import UNKNOWN
from fsir.task.task import Task
from fsir.wire.messages import report_id, topic

log = logging.getLogger("fsir.agent")


class Participation:
    """The part of one device in one task; everything that matters is in `state`."""

    def __init__(
        self, state: State, task: Task, feed: Feed, policy: Policy, noise: Noise, clock: Callable[[], float],
        chance: random.Random,
    ) -> None:  # fmt: skip
        pin = state.pinned(task.name)
        assert pin is not None
        self.task, self._state, self._feed, self._policy = task, state, feed, policy
        self._noise, self._clock, self._chance = noise, clock, chance
        self.active, self.stopped = pin.active, pin.stopped
        self.made = {row.stage for row in state.ledger(task.digest)}
        self._size, self._minimum = report_size(task), minimum_size(task)
        self._same = task.screening is not None and not task.asks_for_fresh_records
        self._slicing, self._told = task.slicing, False
        self._check_source(pin)
        progress = state.progress(task.name)
        self.position, self._first, self._last = progress.position, progress.first, progress.last
        self._dirty = False
        self.learner = self._learner_from(progress.learned)
        waits = self._same and self.made == {SCREENING} and not self.stopped
        if waits and progress.learned is None and not state.kept_count(task.name):
            self.stop(
                "the records of the first report were forgotten, so that there can be no second one"
            )

    def _check_source(self, pin: Pin) -> None:
        if pin.source == self._feed.name:
            return
        progress = self._state.progress(pin.name)
        if FINAL not in self.made and (progress.first is not None or SCREENING in self.made):
            raise StateError(
                f"task {pin.name!r} has learned from {pin.source}: go on with it, because {self._feed.name} may hold "
                f"the same records (or give that up: fsir-agent forget --task {pin.name} --unpin)"
            )
        self._state.move(pin.name, self._feed.name)

    # --- stages ---------------------------------------------------------------------------------------------------

    def stage(self) -> Stage | None:
        """The stage whose report comes next; None while there is nothing to do."""
        if self.stopped or FINAL in self.made:
            return None
        if self.task.screening is None:
            return first_stage(self.task)
        if self.active is not None:
            return final_stage(self.task, self.task.features.indices(self.active))
        return None if SCREENING in self.made else first_stage(self.task)

    def _learner_from(self, learned: bytes | None) -> MomentsLearner | RowsLearner | None:
        stage = self.stage()
        if stage is None:
            return None
        if self._same and stage.name == SCREENING:
            return RowsLearner(self.task, stage, self._state.kept_count(self.task.name), learned)
        return MomentsLearner(self.task, stage, learned)

    def _ends_by_deadline(self) -> bool:
        """Whether the clock decides; a second report about fresh records counts them instead."""
        return self.task.report.deadline is not None and not (
            self.task.asks_for_fresh_records and self.active is not None
        )

    @property
    def late(self) -> bool:
        """Whether the deadline has passed."""
        return self._ends_by_deadline() and self._clock() >= (self.task.report.deadline or 0)

    @property
    def wants_records(self) -> bool:
        """Whether the next record would be learned."""
        return self.learner is not None and self.learner.n < self._size and not self.late

    @property
    def ready(self) -> bool:
        """Whether the next report is due. The rule looks at public numbers and the number of records only."""
        if self.learner is None:
            return False
        return (
            self.late and self.learner.n >= self._minimum
            if self._ends_by_deadline()
            else self.learner.n >= self._size
        )

    # --- records --------------------------------------------------------------------------------------------------

    def learn(self, record: Record) -> bool:
        """Offer one record; true if it was looked at."""
        if record.position.ordinal <= self.position.ordinal:
            return False  # a source that serves several tasks starts where the slowest one is
        wanted = self.wants_records
        self.position = record.position
        if not wanted or self.learner is None:
            return False  # passed by: nothing that would be worth a write
        self._dirty = True
        if isinstance(record.y, str) and record.y == NO_LABEL:
            self.learner.refuse("no label")
            return True
        x, before = record.x, self.learner.n
        y = x.get(self.task.response.name) if record.y is None else record.y
        self.learner.learn_one({name: x[name] for name in self.learner.names if name in x}, y)
        if self.learner.n > before:
            self._extend(record.position.ordinal, record.position.ordinal)
        elif not self._told and y not in (None, "") and self._slicing.slice_of(y) == UNKNOWN:
            # Once, and without the label, which is part of a record: `Walking` for `walking` is a mistake to be mended.
            self._told = True
            known = ", ".join(self._slicing.labels)
            log.warning(
                "%s: a label that the task does not know: not learned; known are %s",
                self.task.name,
                known,
            )
        return True

    def learn_many(
        self, rows: NDArray[np.float64], y: Sequence[Any] | NDArray[Any], first: int | None
    ) -> int:
        """Offer rows over all features of the task; returns how many were used up."""
        start, used = self.position.ordinal + 1 if first is None else first, 0
        if start <= self.position.ordinal:
            raise StateError(
                f"record {start} was seen before: the last one was {self.position.ordinal}"
            )
        while used < len(rows) and self.wants_records and self.learner is not None:
            take = min(self._size - self.learner.n, len(rows) - used)
            self.learner.learn_many(rows[used : used + take], y[used : used + take])
            used += take
        if used:
            self._extend(start, start + used - 1)
            self.position, self._dirty = Position(start + used - 1), True
        return used

    def _extend(self, first: int, last: int) -> None:
        self._first, self._last = first if self._first is None else self._first, last

    @property
    def refused(self) -> Mapping[str, int]:
        """Records that were not accepted, by reason."""
        return {} if self.learner is None else self.learner.refused

    def checkpoint(self, leaving: bool = False) -> None:
        """Commit what was learned together with the position; who leaves also notes where it only passed by."""
        if self._dirty or leaving:
            self._follow_disk()
            self._count_stored()
            learned, kept = (
                (None, ())
                if self.learner is None
                else (self.learner.learned(), self.learner.take_kept())
            )
            self._state.save(
                self.task.name, Progress(self.position, self._first, self._last, learned), kept
            )
            self._count_stored()
            self._dirty = False

    # A disk may deny a commit that has happened. So before anything is written, look at what is there: rows that were
    # stored must not be stored again, and an active set that was pinned is the one.

    def _follow_disk(self) -> None:
        if self.task.screening is None or self.active is not None:
            return
        pin = self._state.pinned(self.task.name)
        if pin is not None and pin.active is not None:
            progress = self._state.progress(self.task.name)
            self.active = pin.active
            self.learner, self._first, self._last = (
                self._learner_from(progress.learned),
                progress.first,
                progress.last,
            )

    def _count_stored(self) -> None:
        if isinstance(self.learner, RowsLearner):
            self.learner.stored(self._state.kept_count(self.task.name))

    # --- the active set -------------------------------------------------------------------------------------------

    def take_active(self, features: tuple[str, ...]) -> None:
        """Pin the first active set. Rows kept so far become moments of its features; others are not needed."""
        self._follow_disk()
        if self.active is not None:
            if features != self.active:
                log.warning(
                    "%s: another active set was published; the first one stays", self.task.name
                )
            return
        self.checkpoint()
        self.active = features
        try:
            learner = self._learner_from(None)
            if isinstance(learner, MomentsLearner) and self._same:
                kept = self._state.kept(self.task.name, self.task.p)
                learner.moments = moments_of(self.task, learner.moments.stage, kept)
            first, last = (self._first, self._last) if self._same else (None, None)
            learned = None if learner is None else learner.learned()
            self._state.pin_active(
                self.task.name, features, Progress(self.position, first, last, learned)
            )
        except BaseException:
            self.active = None  # it will be offered again
            raise
        self.learner, self._first, self._last = learner, first, last
        log.info("%s: the active set has %d features", self.task.name, len(features))

    # --- reports --------------------------------------------------------------------------------------------------

    def report(self) -> OutboxRow | None:
        """Make the report that is due: spend, and only then return what may be sent. None if the cap forbids it."""
        self._follow_disk()
        if not self.ready:
            return None
        assert self.learner is not None
        assert self._first is not None
        assert self._last is not None
        task, now = self.task, self._clock()
        moments = self._moments()
        stage = moments.stage
        if moments.n != self.learner.n or moments.n > self._size:
            self.stop(
                f"its state has {moments.n} records for a report about {self.learner.n} of {self._size}"
            )
            return None
        row = LedgerRow(
            task.name, task.digest, stage.name, stage.mechanism, stage.mu, task.privacy.epsilon, task.privacy.delta,
            numbers_in(stage), moments.n, self._feed.identity, self._first, self._last, now, b"",
        )  # fmt: skip
        ledger = self._state.ledger()
        if any(other.digest == task.digest and other.stage == stage.name for other in ledger):
            return self._adopt(stage)
        spent = [cost_of(other) for other in ledger]
        if reasons := self._policy.over_budget([cost_of(row)], spent):
            self.stop("; ".join(reasons))
            return None
        raw = report_bytes(task, self._state.device, moments, self._noise)
        if len(raw) > LIMITS["report"]:  # it has not left, so that nothing is spent
            self.stop(
                f"its report takes {len(raw)} bytes, and aggregators read at most {LIMITS['report']}"
            )
            return None
        row = replace(row, report=report_id(raw))
        hold = self._chance.uniform(0.0, task.report.max_delay)
        out = OutboxRow(
            row.report,
            task.name,
            stage.name,
            topic(task.name, "report", self._state.device),
            raw,
            now + hold,
        )
        keep = (
            self._same and stage.name == SCREENING
        )  # the second report needs the records, and their interval
        progress = Progress(
            self.position, self._first if keep else None, self._last if keep else None
        )
        self._state.record_report(row, out, progress, drop_kept=not keep)
        self._dirty = False
        self.made.add(stage.name)
        self.learner, self._first, self._last = None, progress.first, progress.last
        log.info(
            "%s: %s report made from %d records, mu = %.4g",
            task.name,
            stage.name,
            moments.n,
            stage.mu,
        )
        return out

    def _adopt(self, stage: Stage) -> OutboxRow | None:
        """The disk has a report whose commit it denied: it is the one and only."""
        self.made.add(stage.name)
        self.learner = None
        return next(
            (row for row in self._state.outbox(self.task.name) if row.stage == stage.name), None
        )

    def _moments(self) -> Moments:
        if isinstance(self.learner, RowsLearner):
            self.checkpoint()
            return moments_of(
                self.task, first_stage(self.task), self._state.kept(self.task.name, self.task.p)
            )
        assert self.learner is not None
        return self.learner.moments

    def stop(self, reason: str) -> None:
        """Take no further part."""
        self._state.stop(self.task.name, reason)
        self.stopped, self.learner = reason, None
        log.error("%s: takes no further part: %s", self.task.name, reason)
