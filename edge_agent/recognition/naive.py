"""The device's own classifier where the federation says nothing but `z`: what labels teach alone.

Gaussian naive Bayes of River: it needs few labels, holds a handful of numbers per class, and of
seven none was clearly better on people who took no part (docs/recognition.md). It is what the last
`PAIRS` labelled records of each class teach, and is made anew from them now and then, after a
restart too; nothing else of it is kept.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from typing import Any

from river.naive_bayes import GaussianNB

PAIRS = 200  # labelled records of each class that are kept
REFRESH = 500  # labelled records after which the classifier is made anew from those that are kept
Pairs = Mapping[str, list[Any]]


def _new_model() -> Any:
    return GaussianNB()  # type: ignore[no-untyped-call]


class Naive:
    """Gaussian naive Bayes on the coordinates of the subspace."""

    def __init__(self, classes: tuple[str, ...], pairs: Pairs | None = None) -> None:
        self._classes = classes
        self._begin(pairs or {})

    def _begin(self, pairs: Pairs) -> None:
        """Learn from these pairs alone."""
        self._pairs = {
            label: deque(map(tuple, pairs.get(label, ())), maxlen=PAIRS) for label in self._classes
        }
        self._model = _new_model()
        self.learned: Counter[str] = Counter()
        self._refresh_in = REFRESH
        for label, kept in self._pairs.items():
            for z in kept:
                self._model.learn_one(dict(enumerate(z)), label)
            self.learned[label] = len(kept)

    def scores(self, z: tuple[float, ...]) -> dict[str, float]:
        """Log probability of each class that was seen, up to a constant."""
        # The same as predict_proba_one, without the detour through scipy that takes most of its
        # time.
        scores: dict[str, float] = self._model.joint_log_likelihood(dict(enumerate(z)))
        return scores

    def learn(self, z: tuple[float, ...], label: str) -> None:
        """The label of a record has come."""
        self._pairs[label].append(z)
        self._model.learn_one(dict(enumerate(z)), label)
        self.learned[label] += 1
        self._refresh_in -= 1
        if self._refresh_in <= 0:
            self._begin(self.pairs())

    def pairs(self) -> dict[str, list[Any]]:
        """The records that are kept, for the state file."""
        return {label: list(kept) for label, kept in self._pairs.items()}
