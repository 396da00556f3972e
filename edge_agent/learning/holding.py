"""Whether a report is held back until the owner has looked.

It is decided once, when the report is due, from a noisy number that is booked like every release
(docs/privacy.md, proposition 12). What is held stays held over restarts, until its owner releases
it or the policy says `hold = false`.
"""

from __future__ import annotations

import logging

from edge_agent.consent.admission import Feed, cost_of, has_room
from edge_agent.consent.policy import Policy
from edge_agent.learning.draft import Draft
from edge_agent.learning.learner import Learner
from edge_agent.records import Position
from edge_agent.state.holds import Hold, hold_of
from edge_agent.state.rows import HOLD, LedgerRow
from edge_agent.state.state import State
from edge_agent.watch.faults import Fault, margins, plainest
from edge_agent.watch.refusals import anew
from edge_agent.watch.threshold import Certain, Threshold
from fsir.privacy.noise import Noise
from fsir.task.task import Task

log = logging.getLogger("fsir.agent")
PASSED = "passed"  # what the ledger says of a report that was not held
HELD = "held"


class Holding:
    """Judges the reports of one device in one task."""

    def __init__(self, state: State, task: Task, policy: Policy, feed: Feed, noise: Noise) -> None:
        self._state = state
        self._task = task
        self._policy = policy
        self._feed = feed
        self._noise = noise
        self._threshold = Threshold(task)
        self._hold = self._stored()
        self._drawn: bool | None = None  # the decision, until the disk has it
        if self.why and not self._is_requested():
            self._tell()

    def _stored(self) -> Hold | None:
        return self._state.holds.of(self._task.name) if self._policy.hold else None

    @property
    def why(self) -> str:
        """Why the report that is due is held; empty if none is."""
        return "" if self._hold is None or self._hold.released else self._hold.why

    def judge(
        self, draft: Draft, position: Position, ledger: list[LedgerRow], now: float
    ) -> LedgerRow | None:
        """Decide about the report that is due, unless that is done; afterwards look at `why`.

        Returns what a report that is not held has to book; one that is held is booked already,
        together with what was learned for it.
        """
        self._hold = self._stored()  # a disk may deny a commit that has happened
        learner = draft.learner
        if not self._policy.hold or self._hold is not None or learner is None:
            return None
        if not self._threshold.judges(learner.n):
            return None
        from edge_agent.learning.report import judgement_row

        row = judgement_row(
            self._task,
            self._threshold.mu,
            learner.n,
            source=self._feed.identity,
            interval=draft.interval(),
            made=now,
            earlier=sum(row.digest == self._task.digest and row.stage == HOLD for row in ledger),
        )
        if not has_room(self._state, self._task, self._policy, self._feed, cost_of(row)):
            log.info("%s: the report cannot be held: the owner's cap has no room", self._task.name)
            return None
        found = faults(self._task, learner, self._threshold)
        if self._drawn is None:
            margin = min(fault.margin for fault in found)
            which = HOLD if row.round == 1 else f"{HOLD} {row.round}"
            self._drawn = self._threshold.holds(margin, self._noise.for_stage(which))
        if not self._drawn:
            return row._replace(verdict=PASSED)
        hold = hold_of(row, plainest(found).text)
        self._state.record_hold(row._replace(verdict=HELD), hold, draft.progress(position))
        self._hold = hold
        self._drawn = None
        self._tell()
        return None

    def _tell(self) -> None:
        name = self._task.name
        feed = self._feed
        begin, send = ways_out(
            name,
            feed.name,
            self._state.where,
            lasts=feed.lasts,
            reported=self._state.has_reported(feed.name),
        )
        log.warning(
            "%s: its report is HELD, and nothing is sent: %s %s %s", name, self.why, begin, send
        )

    def look(self) -> None:
        """Let the report go if its owner has asked for it."""
        if self.why and self._is_requested():
            self.release()

    def _is_requested(self) -> bool:
        return self._hold is not None and self._state.holds.requested(self._hold)

    def release(self) -> None:
        """Let the report go that is held."""
        self._state.holds.release(self._task.name)
        self._hold = self._state.holds.of(self._task.name)
        log.info("%s: its report was released by the owner", self._task.name)

    def settled(self) -> None:
        """The report is made: the next one is judged anew."""
        self._hold = None
        self._drawn = None


def ways_out(task: str, source: str, state: str, *, lasts: bool, reported: bool) -> tuple[str, str]:
    """What an owner can do about a report that is held: begin anew, or send it as it is.

    lasts: whether the records of the source are known from run to run; if not, what was learned
    goes with the run. reported: whether others of its records are in a report.
    """
    send = f"fsir-agent release {task} --state {state}"
    if not lasts:
        return (
            "To mend the source and begin anew: start the agent again.",
            f"To send it as it is: `{send}` while this agent runs",
        )
    begin = f"{anew(source, task, reported=reported)} --state {state}"
    return (
        f"To mend the source and begin anew: stop the agent, then `{begin}`.",
        f"To send it as it is: `{send}`",
    )


def faults(task: Task, learner: Learner, threshold: Certain) -> list[Fault]:
    """What may be wrong with the records of a report, the plainest first."""
    return margins(
        task,
        learner.stage,
        learner.watched(),
        n=learner.n,
        refused=learner.refused,
        threshold=threshold,
    )
