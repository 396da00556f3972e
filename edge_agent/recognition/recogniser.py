"""What the owner is doing, told by the device itself.

The device has a small classifier of its own that learns from labels. Where the federation says
where classes lie (a task with a public map), it starts from there (`Personal`); elsewhere it learns
from nothing but labels, on the few numbers of each record (`Naive`). A new version of the subspace
may give the numbers a new meaning: all goes on as far as the old one can be read there (`frame`).

Who speaks: the federation's classifier, until the device's own has learned `ENOUGH` records and was
right at least as often on the recent ones; and always where the federation names a class of which
the device has hardly seen a record. One that starts from the federation needs only a handful, and
`Guard` bounds what it may cost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from edge_agent.recognition.drift import Fit
from edge_agent.recognition.frame import Step
from edge_agent.recognition.guard import Guard
from edge_agent.recognition.naive import Naive
from edge_agent.recognition.personal import FLOAT, Personal, Prior
from edge_agent.recognition.scores import DEVICE, FEDERATION, Scores

ENOUGH = 50  # records learned in all ...
HARDLY = 10  # ... and of one class
# The same for who starts from the federation.
ENOUGH_WITH_PRIOR = 5
HARDLY_WITH_PRIOR = 3
PAST = 10  # versions of the subspace whose scores are kept
BY_ERRORS = "errors"
BY_DISTANCE = "distance"
MEANING = {
    BY_ERRORS: "the federation's classifier errs more often than it used to on this device",
    BY_DISTANCE: "records of this device lie far from where their classes used to be",
}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What was said about one record when it came, and by whom."""

    z: tuple[float, ...]
    said: str | None
    confidence: float
    by: str | None
    device: str | None  # what the device's own classifier takes it for
    federation: str | None  # and that of the federation
    v: bytes = b""  # what `Personal` learns from, where there is one

    def after(self, step: Step) -> Answer:
        """The same in the coordinates of a new version."""
        return replace(self, z=step.coordinates(self.z), v=step.whitened(self.v))


class Recogniser:
    """Recognition under one subspace; `table` and `of` carry it over a restart."""

    def __init__(
        self,
        classes: tuple[str, ...],
        subspace: str = "",
        version: int = 0,
        prior: Prior | None = None,
    ) -> None:
        self._classes = classes
        self.subspace = subspace
        self.version = version
        self._prior = prior
        self._begin()
        self.scores = Scores()
        self._guard = Guard()
        self._fit = Fit()
        self.drift: dict[str, Any] | None = None
        self.past: list[dict[str, Any]] = []

    def _begin(self) -> None:
        """Nothing is learned."""
        self._naive = Naive(self._classes)
        self._personal = None if self._prior is None else Personal(self._prior)

    # --- one record -------------------------------------------------------------------------------

    def answer(
        self, z: tuple[float, ...], federation: str | None, confidence: float, v: bytes = b""
    ) -> Answer:
        """What the device and the federation take a record for, and which one is believed."""
        if self._personal is None:
            scores = self._naive.scores(z)
        else:
            scores = self._personal.scores(np.frombuffer(v, FLOAT))
        device = max(scores, key=scores.__getitem__, default=None)
        said = federation
        by = None if federation is None else "federation"
        if device is not None and self._ripe(federation):
            said = device
            by = "device"
            odds = sum(math.exp(score - scores[device]) for score in scores.values())
            confidence = round(1.0 / odds, 6)
        return Answer(
            z=z, said=said, confidence=confidence, by=by, device=device, federation=federation, v=v
        )

    def _ripe(self, federation: str | None) -> bool:
        own = self._personal
        learned = self._naive.learned if own is None else own.learned
        if learned.total() < (ENOUGH if own is None else ENOUGH_WITH_PRIOR):
            return False
        if federation is None:
            return True
        better = self.scores.recently(DEVICE) >= self.scores.recently(FEDERATION)
        hardly = HARDLY if own is None else HARDLY_WITH_PRIOR
        return better and self._guard.open and learned[federation] >= hardly

    def watch(self, answer: Answer) -> str | None:
        """Look at where a record lies; what was found, if that is new."""
        label = answer.federation or answer.said
        moved = label is not None and self._fit.place(np.array(answer.z), label)
        return BY_DISTANCE if moved and self.drift is None else None

    def learn(self, answer: Answer, label: str) -> str | None:
        """The label of a record has come: score, then learn.

        What the watch has found, if that is new.
        """
        self.scores.add(label, answer.said, answer.device, answer.federation)
        reference = answer.device if answer.federation is None else answer.federation
        risen = self._fit.error(reference != label)
        if self._personal is None:
            self._naive.learn(answer.z, label)
        else:
            self._guard.add(
                spoke=answer.by == "device",
                device=answer.device == label,
                federation=answer.federation == label,
            )
            self._personal.learn(np.frombuffer(answer.v, FLOAT), label)
        return BY_ERRORS if risen and self.drift is None else None

    def alarm(self, what: str, record: int, when: float) -> None:
        """The subspace no longer fits: remember it, and forget what was learned before."""
        self.drift = {
            "what": what,
            "meaning": MEANING[what],
            "record": record,
            "time": round(when, 3),
        }
        self._begin()

    # --- versions and restarts --------------------------------------------------------------------

    def handed_over(self, step: Step, version: int) -> Recogniser:
        """On under a new version.

        A fresh one if what the device's classifier has learned cannot be read there.
        """
        frame = step.frame
        left, _ = step.directions
        if frame.prior is not None and self._personal is not None and step.rewhitening is not None:
            self._personal = self._personal.turned(frame.prior, step.rewhitening)
        elif frame.prior is not None or self._personal is not None or not left:
            return self.renewed(frame.subspace, version, frame.prior)
        self.subspace = frame.subspace
        self.version = version
        self._prior = frame.prior
        if not step.stays:
            pairs = self._naive.pairs()
            self._naive = Naive(
                self._classes,
                {label: list(map(step.coordinates, kept)) for label, kept in pairs.items()},
            )
            self._fit = self._fit.moved()
            self.drift = None
        return self

    def renewed(self, subspace: str, version: int, prior: Prior | None = None) -> Recogniser:
        """A fresh one for a new subspace, with the scores of the old ones."""
        fresh = Recogniser(self._classes, subspace, version, prior)
        fresh.past = [*self.past, self.summary()][-PAST:] if self.scores.n else self.past
        return fresh

    def summary(self) -> dict[str, Any]:
        """The figures for people and programs."""
        return {"version": self.version, **self.scores.summary(), "drift": self.drift}

    def table(self) -> dict[str, Any]:
        """Plain values, for the state file."""
        personal = {}
        if self._personal is not None:
            personal = {"personal": self._personal.table(), "guard": self._guard.table()}
        return {
            "subspace": self.subspace,
            "pairs": self._naive.pairs(),
            **personal,
            "scores": self.scores.table(),
            "fit": self._fit.table(),
            "past": self.past,
            "now": self.summary(),
        }

    @classmethod
    def of(
        cls, classes: tuple[str, ...], table: Mapping[str, Any], prior: Prior | None = None
    ) -> Recogniser:
        """From `table`, and the prior of the same version if it has one."""
        restored = cls(classes, table["subspace"], table["now"]["version"], prior)
        restored._naive = Naive(classes, table["pairs"])
        if prior is not None and "personal" in table:
            restored._personal = Personal.of(prior, table["personal"])
            restored._guard = Guard(table["guard"])
        restored.scores = Scores.of(table["scores"])
        restored._fit = Fit(table["fit"])
        restored.drift = table["now"]["drift"]
        restored.past = list(table["past"])
        return restored
