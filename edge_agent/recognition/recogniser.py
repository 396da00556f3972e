"""What the owner is doing, told by the device itself.

It has a small River classifier on the few numbers of each record.

Gaussian naive Bayes: it needs few labels, holds a handful of numbers per class, and of seven none
was clearly better on people who took no part (docs/recognition.md). It is what the last `PAIRS`
labelled records of each class teach, and is made anew from them now and then, after a restart too;
nothing else of it is kept. A new subspace gives the numbers a new meaning: classifier, scores and
watches start anew.

Who speaks: the federation's classifier, until the device's own has learned `ENOUGH` records and was
right at least as often on the recent ones; and always where the federation names a class of which
the device has hardly seen a record.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from river.naive_bayes import GaussianNB

from edge_agent.recognition.drift import Fit
from edge_agent.recognition.scores import DEVICE, FEDERATION, Scores

PAIRS = 200  # labelled records of each class that are kept
ENOUGH = 50  # records learned in all ...
HARDLY = 10  # ... and of one class
REFRESH = 500  # labelled records after which the classifier is made anew from those that are kept
PAST = 10  # versions of the subspace whose scores are kept
BY_ERRORS = "errors"
BY_DISTANCE = "distance"
MEANING = {
    BY_ERRORS: "the federation's classifier errs more often than it used to on this device",
    BY_DISTANCE: "records of this device lie far from where their classes used to be",
}


def _new_model() -> Any:
    return GaussianNB()  # type: ignore[no-untyped-call]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What was said about one record when it came, and by whom."""

    z: tuple[float, ...]
    said: str | None
    confidence: float
    by: str | None
    device: str | None  # what the device's own classifier takes it for
    federation: str | None  # and that of the federation


class Recogniser:
    """Recognition under one subspace; `table` and `of` carry it over a restart."""

    def __init__(self, classes: tuple[str, ...], subspace: str = "", version: int = 0) -> None:
        self._classes = classes
        self.subspace = subspace
        self.version = version
        self._begin({})
        self.scores = Scores()
        self._fit = Fit()
        self.drift: dict[str, Any] | None = None
        self.past: list[dict[str, Any]] = []

    def _begin(self, pairs: Mapping[str, list[Any]]) -> None:
        """Learn from these pairs alone."""
        self._pairs = {
            label: deque(map(tuple, pairs.get(label, ())), maxlen=PAIRS) for label in self._classes
        }
        self._model = _new_model()
        self._learned: Counter[str] = Counter()
        self._refresh_in = REFRESH
        for label, kept in self._pairs.items():
            for z in kept:
                self._model.learn_one(dict(enumerate(z)), label)
            self._learned[label] = len(kept)

    # --- one record -------------------------------------------------------------------------------

    def answer(self, z: tuple[float, ...], federation: str | None, confidence: float) -> Answer:
        """What the device and the federation take a record for, and which one is believed."""
        # The same as predict_proba_one, without the detour through scipy that takes most of its
        # time.
        scores: dict[str, float] = self._model.joint_log_likelihood(dict(enumerate(z)))
        device = max(scores, key=scores.__getitem__, default=None)
        said = federation
        by = None if federation is None else "federation"
        if device is not None and self._ripe(federation):
            said = device
            by = "device"
            odds = sum(math.exp(score - scores[device]) for score in scores.values())
            confidence = round(1.0 / odds, 6)
        return Answer(
            z=z, said=said, confidence=confidence, by=by, device=device, federation=federation
        )

    def _ripe(self, federation: str | None) -> bool:
        if self._learned.total() < ENOUGH:
            return False
        if federation is None:
            return True
        better = self.scores.recently(DEVICE) >= self.scores.recently(FEDERATION)
        return better and self._learned[federation] >= HARDLY

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
        self._pairs[label].append(answer.z)
        self._model.learn_one(dict(enumerate(answer.z)), label)
        self._learned[label] += 1
        self._refresh_in -= 1
        if self._refresh_in <= 0:
            self._begin({known: list(kept) for known, kept in self._pairs.items()})
        return BY_ERRORS if risen and self.drift is None else None

    def alarm(self, what: str, record: int, when: float) -> None:
        """The subspace no longer fits: remember it, and forget what was learned before."""
        self.drift = {
            "what": what,
            "meaning": MEANING[what],
            "record": record,
            "time": round(when, 3),
        }
        self._begin({})

    # --- versions and restarts --------------------------------------------------------------------

    def renewed(self, subspace: str, version: int) -> Recogniser:
        """A fresh one for a new subspace, with the scores of the old ones."""
        fresh = Recogniser(self._classes, subspace, version)
        fresh.past = [*self.past, self.summary()][-PAST:] if self.scores.n else self.past
        return fresh

    def summary(self) -> dict[str, Any]:
        """The figures for people and programs."""
        return {"version": self.version, **self.scores.summary(), "drift": self.drift}

    def table(self) -> dict[str, Any]:
        """Plain values, for the state file."""
        pairs = {label: list(kept) for label, kept in self._pairs.items()}
        return {
            "subspace": self.subspace,
            "pairs": pairs,
            "scores": self.scores.table(),
            "fit": self._fit.table(),
            "past": self.past,
            "now": self.summary(),
        }

    @classmethod
    def of(cls, classes: tuple[str, ...], table: Mapping[str, Any]) -> Recogniser:
        """From `table`."""
        restored = cls(classes, table["subspace"], table["now"]["version"])
        restored._begin(table["pairs"])
        restored.scores = Scores.of(table["scores"])
        restored._fit = Fit(table["fit"])
        restored.drift = table["now"]["drift"]
        restored.past = list(table["past"])
        return restored
