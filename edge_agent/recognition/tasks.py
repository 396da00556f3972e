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
from edge_agent.recognition.frame import Frame, Step
from edge_agent.recognition.recogniser import MEANING, Answer, Recogniser
from edge_agent.records import Record
from edge_agent.state.state import State
from fsir.task.task import Task
from fsir.wire.messages import Subspace

log = logging.getLogger("fsir.predict")
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
        self._frame: Frame | None = None
        self._frame_saved = False
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
        recogniser, frame = self._using(projection.subspace, task)
        z = frame.read(served["z"])
        v = b"" if frame.whitener is None else frame.whitener.coordinates(record.x)
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

    def _using(self, subspace: Subspace, task: Task) -> tuple[Recogniser, Frame]:
        """The recogniser for this subspace, and the coordinates in which it learns."""
        recogniser = self._recogniser
        frame = self._frame
        if recogniser is None:
            recogniser, frame = self._restored(subspace, task)
        if frame is None or self._subspace is not subspace:
            first = Step(frame=Frame.first(task, subspace))
            step = first if frame is None else frame.step(task, subspace)
            frame = step.frame
            if recogniser.subspace != frame.subspace:
                recogniser = self._hand_over(recogniser, step, subspace.version)
        self._recogniser = recogniser
        self._frame = frame
        self._subspace = subspace
        return recogniser, frame

    def _hand_over(self, old: Recogniser, step: Step, version: int) -> Recogniser:
        """On under a new version, as far as what was learned can be read there."""
        known = bool(old.subspace)
        recogniser = old.handed_over(step, version)
        goes_on = recogniser is old
        if known:
            words = step.words(goes_on)
            log.info("%s: a new subspace, version %d: %s", self._agent.name, version, words)
        answers = self._answers.items() if goes_on else ()
        self._answers = {ordinal: answer.after(step) for ordinal, answer in answers}
        # Who was told about the old version is told about this one.
        self._news = None if recogniser.drift is None else recogniser.drift["what"]
        self._dirty = True
        self._frame_saved = False
        return recogniser

    def _restored(self, subspace: Subspace, task: Task) -> tuple[Recogniser, Frame | None]:
        """What was saved, and the coordinates that it is in, if these are known."""
        raw = self._state.recognition(self._agent.name)
        if raw is None:
            return Recogniser(task.response.classes), None
        table = msgpack.unpackb(raw)
        if table["source"] == self._source:
            self._learned = table["learned"]
        frame = self._restored_frame(table["subspace"], subspace, task)
        prior = None if frame is None else frame.prior
        return Recogniser.of(task.response.classes, table, prior), frame

    def _restored_frame(self, identity: str, subspace: Subspace, task: Task) -> Frame | None:
        raw = self._state.recognition_frame(self._agent.name)
        saved = None if raw is None else Frame.of(task, subspace.features, msgpack.unpackb(raw))
        self._frame_saved = saved is not None and saved.subspace == identity
        if self._frame_saved:
            return saved
        # Version 0.1 has learned on the coordinates as they came, and did not keep the basis.
        first = Frame.first(task, subspace)
        return first if first.subspace == identity else None

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
            frame = None if self._frame_saved or self._frame is None else self._frame.table()
            self._state.keep_recognition(
                self._agent.name,
                self._source,
                self._seen,
                msgpack.packb(table),
                None if frame is None else msgpack.packb(frame),
            )
            self._frame_saved = True
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
