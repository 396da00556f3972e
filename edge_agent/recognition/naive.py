"""The device's own classifier where the federation says nothing but `z`: what labels teach alone.

Gaussian naive Bayes of River: it needs few labels, holds a handful of numbers per class, and of
seven none was clearly better on people who took no part (docs/recognition.md). It is what the last
`PAIRS` labelled records of each class teach, and is made anew from them now and then, after a
restart too; nothing else of it is kept.

Records that were learned before a subspace got a new direction have NaN there. The direction has a
say once `KNOWN` records of each such class tell of it.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Mapping
from typing import Any

from river.naive_bayes import GaussianNB

PAIRS = 200  # labelled records of each class that are kept
REFRESH = 500  # labelled records after which the classifier is made anew from those that are kept
KNOWN = 10  # records of a class that tell of a new direction before it is used
Pairs = Mapping[str, list[Any]]


def _new_model() -> Any:
    return GaussianNB()  # type: ignore[no-untyped-call]


def _tells(z: tuple[float, ...]) -> bool:
    """Whether a record has any coordinate in the present directions."""
    return not all(map(math.isnan, z))


class Naive:
    """Gaussian naive Bayes on the coordinates of the subspace."""

    def __init__(self, classes: tuple[str, ...], pairs: Pairs | None = None) -> None:
        self._classes = classes
        self._begin(pairs or {})

    def _begin(self, pairs: Pairs) -> None:
        """Learn from these pairs alone."""
        self._pairs = {
            label: deque(filter(_tells, map(tuple, pairs.get(label, ()))), maxlen=PAIRS)
            for label in self._classes
        }
        self._model = _new_model()
        self.learned: Counter[str] = Counter()
        self._new: set[int] = set()  # coordinates that some records tell nothing of
        self._refresh_in = REFRESH
        for label, kept in self._pairs.items():
            for z in kept:
                self._take(z, label)

    def _take(self, z: tuple[float, ...], label: str) -> None:
        known = {i: value for i, value in enumerate(z) if not math.isnan(value)}
        self._new.update(set(range(len(z))) - known.keys())
        self._model.learn_one(known, label)
        self.learned[label] += 1

    def scores(self, z: tuple[float, ...]) -> dict[str, float]:
        """Log probability of each class that was seen, up to a constant."""
        x = {i: value for i, value in enumerate(z) if i not in self._new or self._is_known(i)}
        # The same as predict_proba_one, without the detour through scipy that takes most of its
        # time.
        scores: dict[str, float] = self._model.joint_log_likelihood(x)
        return scores

    def _is_known(self, i: int) -> bool:
        """Whether each class has records enough that tell of a coordinate, or none that do not."""
        told = {label: self._model.gaussians[label][i].n_samples for label in self.learned}
        return all(told[label] >= min(KNOWN, n) for label, n in self.learned.items())

    def learn(self, z: tuple[float, ...], label: str) -> None:
        """The label of a record has come."""
        if not _tells(z):
            return
        self._pairs[label].append(z)
        self._take(z, label)
        self._refresh_in -= 1
        if self._refresh_in <= 0:
            self._begin(self.pairs())

    def pairs(self) -> dict[str, list[Any]]:
        """The records that are kept, for the state file."""
        return {label: list(kept) for label, kept in self._pairs.items()}
