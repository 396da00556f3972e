"""`--predict`: joins the recogniser of each task to the loop and to the state file.

Nothing here goes to a broker. A record is answered when it comes and learned when its label is
decided, once: the recogniser commits what it has learned together with how far it has come, as the
accumulators do.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from typing import Any

import msgpack

from edge_agent.agent import Agent
from edge_agent.recognition.personal import Prior
from edge_agent.recognition.recogniser import MEANING, Answer, Recogniser
from edge_agent.recognition.whitened import Whitener, identity_of, whitens
from edge_agent.records import Record
from edge_agent.state.state import State
from fsir.task.task import Task
from fsir.wire.messages import Subspace

log = logging.getLogger("fsir.predict")
FARTHEST = 1e9
LOOKED_SECONDS = 600.0  # between two commits of what is only about where records lie


class TaskRecognition:
    """Recognition for one task."""

    def __init__(self, state: State, agent: Agent, clock: Callable[[], float]) -> None:
        self._state = state
        self._agent = agent
        self._clock = clock
        self._source = agent.feed.name
        self._recogniser: Recogniser | None = None
        self._subspace: Subspace | None = None
        self._whitener: Whitener | None = None
        self._answers: dict[int, Answer] = {}  # of records whose labels are not decided
        self._news: str | None = None
        self._dirty = False
        self._looked = False
        self._saved_at = clock()
        self._seen = state.recognised(agent.name, self._source)
        self._learned = self._seen.ordinal

    # --- a record comes ---------------------------------------------------------------------------

    def serve(self, record: Record) -> dict[str, Any] | None:
        """The served record, with what the owner is doing."""
        served = self._agent.serve(record)
        task = self._agent.task
        projection = self._agent.projection
        if served is None or projection is None or task is None or not task.response.classes:
            return served
        if not all(map(math.isfinite, served["z"])):
            return served
        recogniser = self._using(projection.subspace, task)
        # A broken sensor must not spoil sums.
        z = tuple(min(max(value, -FARTHEST), FARTHEST) for value in served["z"])
        v = b"" if self._whitener is None else self._whitener.coordinates(record.x)
        answer = recogniser.answer(z, served.get("class"), served.get("confidence", 0.0), v)
        self._remember(record, answer, recogniser)
        if answer.said is not None:
            served |= {"answer": answer.said, "confidence": answer.confidence, "by": answer.by}
            served["activity"] = answer.said  # its name in version 0.1
        if self._news is not None:
            served["drift"] = self._news
            self._news = None
        return served

    def _remember(self, record: Record, answer: Answer, recogniser: Recogniser) -> None:
        """Keep an answer until its label is decided, and look at where the record lies."""
        ordinal = record.position.ordinal
        if ordinal > self._seen.ordinal:  # a file read again after a crash tells nothing new
            self._seen = record.position
            self._looked = True
            self._tell(recogniser, recogniser.watch(answer), ordinal)
        if ordinal > self._learned:
            self._answers[ordinal] = answer

    def _using(self, subspace: Subspace, task: Task) -> Recogniser:
        """The recogniser for this subspace.

        Where we left off if it is the one that we had, else anew.
        """
        recogniser = self._recogniser
        if recogniser is not None and self._subspace is subspace:
            return recogniser
        identity = identity_of(subspace)
        self._whitener = Whitener(task, subspace) if whitens(task, subspace) else None
        prior = None if self._whitener is None else self._whitener.prior
        if recogniser is None:
            recogniser = self._restored(task.response.classes, identity, prior)
        if recogniser.subspace != identity:
            if recogniser.subspace:
                log.info(
                    "%s: a new subspace, version %d: recognition starts anew",
                    self._agent.name,
                    subspace.version,
                )
            recogniser = recogniser.renewed(identity, subspace.version, prior)
            self._answers.clear()  # their numbers mean something else now
            self._dirty = True
        self._recogniser = recogniser
        self._subspace = subspace
        return recogniser

    def _restored(self, classes: tuple[str, ...], identity: str, prior: Prior | None) -> Recogniser:
        raw = self._state.recognition(self._agent.name)
        if raw is None:
            return Recogniser(classes)
        table = msgpack.unpackb(raw)
        if table["source"] == self._source:
            self._learned = table["learned"]
        # Of another subspace only the scores are of use, and these need no prior.
        return Recogniser.of(classes, table, prior if table["subspace"] == identity else None)

    # --- its label is decided ---------------------------------------------------------------------

    def learn(self, record: Record) -> None:
        """The label of a record is decided: learn it, if it has one."""
        ordinal = record.position.ordinal
        task = self._agent.task
        answer = self._answers.pop(ordinal, None)
        if answer is None or task is None or self._recogniser is None:
            return
        self._learned = ordinal
        self._dirty = True
        response = record.x.get(task.response.name) if record.y is None else record.y
        label = task.slicing.slice_of(response)
        if label >= 0:
            news = self._recogniser.learn(answer, task.response.classes[label])
            self._tell(self._recogniser, news, ordinal)

    def _tell(self, recogniser: Recogniser, news: str | None, ordinal: int) -> None:
        """Once: in the log, in the next served line, and for `fsir-agent status`."""
        if news is not None:
            log.warning(
                "%s: the subspace no longer fits this device: %s (record %d). Was the sensor "
                "moved or turned? The device's own classifier starts anew",
                self._agent.name,
                MEANING[news],
                ordinal,
            )
            recogniser.alarm(news, ordinal, self._clock())
            self._news = news
            self._dirty = True

    # --- saving -----------------------------------------------------------------------------------

    @property
    def dirty(self) -> bool:
        """Whether something was learned that is not saved.

        Where records lie can wait: it would cost the card.
        """
        return self._dirty

    def checkpoint(self, leaving: bool) -> None:
        """Commit what was learned together with how far it goes."""
        waited = self._looked and (leaving or abs(self._clock() - self._saved_at) >= LOOKED_SECONDS)
        if (self._dirty or waited) and self._recogniser is not None:
            table = {"source": self._source, "learned": self._learned, **self._recogniser.table()}
            self._state.keep_recognition(
                self._agent.name, self._source, self._seen, msgpack.packb(table)
            )
            self._dirty = False
            self._looked = False
            self._saved_at = self._clock()


class Recognition:
    """Recognition for all tasks of a device."""

    def __init__(
        self, state: State, agents: list[Agent], clock: Callable[[], float] = time.time
    ) -> None:
        self._tasks = {agent.name: TaskRecognition(state, agent, clock) for agent in agents}

    def serve(self, agent: Agent, record: Record) -> dict[str, Any] | None:
        """As `Agent.serve`, with what the owner is doing."""
        return self._tasks[agent.name].serve(record)

    def learn(self, record: Record) -> None:
        """A record whose label is decided."""
        for task in self._tasks.values():
            task.learn(record)

    @property
    def dirty(self) -> bool:
        """Whether something was learned that is not saved."""
        return any(task.dirty for task in self._tasks.values())

    def checkpoint(self, leaving: bool = False) -> None:
        """Commit; `StorageError` if the disk takes nothing."""
        for task in self._tasks.values():
            task.checkpoint(leaving)
