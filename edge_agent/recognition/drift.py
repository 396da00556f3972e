"""Whether the subspace still fits this device: two watches, each over one stream of numbers.

With labels: the errors of the federation's classifier. Without any: how far a record lies from
where its class used to be on this device, in units of the spread. The first `REFERENCE` records of
each class (as the classifier names it) say where that is. A spread below that of all classes
together is not believed: whoever sits once sits more still than over a week. The watches are
River's ADWIN; only a rise counts. The figures behind these choices are in docs/recognition.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from river.drift import ADWIN

from fsir.arrays import Matrix

REFERENCE = 100  # records of a class that say where it usually is
CONFIDENCE = 1e-5  # ADWIN's delta
FAR = 9.0  # mean squared distance, in units of the spread, beyond which all is equally far
KEPT = 300  # numbers of each watch that survive a restart


class Watch:
    """One stream of numbers from 0 to 255; tells when their mean has risen."""

    def __init__(self, values: bytes = b"") -> None:
        self.values = bytearray()
        self._adwin: Any = ADWIN(delta=CONFIDENCE)  # type: ignore[no-untyped-call]
        for value in values:
            self.update(value)

    def update(self, value: int) -> bool:
        """One more number; true if the mean has risen just now."""
        before = self._adwin.estimation
        self._adwin.update(value / 255)
        self.values.append(value)
        del self.values[:-KEPT]
        return bool(self._adwin.drift_detected and self._adwin.estimation > before)


class _Place(NamedTuple):
    """Where the first records of a class lie."""

    n: int
    mean: Matrix
    squares: Matrix  # sum of squared deviations

    def with_one_more(self, z: Matrix) -> _Place:
        """The same with one more record."""
        step = z - self.mean
        mean = self.mean + step / (self.n + 1)
        return _Place(self.n + 1, mean, self.squares + step * (z - mean))


class Places:
    """Where each class usually lies on this device."""

    def __init__(self, table: Mapping[str, Sequence[Any]] | None = None) -> None:
        self._known = {
            label: _Place(int(n), np.frombuffer(mean), np.frombuffer(squares))
            for label, (n, mean, squares) in (table or {}).items()
        }

    def distance(self, z: Matrix, label: str) -> float | None:
        """Mean squared distance to the usual place of a class in units of its spread.

        None while that is learned.
        """
        place = self._known.get(label, _Place(0, np.zeros(len(z)), np.zeros(len(z))))
        if place.n < REFERENCE:
            self._known[label] = place.with_one_more(z)
            return None
        spread = np.maximum(place.squares / (place.n - 1), self._pooled())
        return float(np.mean((z - place.mean) ** 2 / np.maximum(spread, 1e-12)))

    def _pooled(self) -> Any:
        """The spread of all classes together."""
        squares = sum(place.squares for place in self._known.values())
        return squares / max(sum(place.n - 1 for place in self._known.values()), 1)

    def table(self) -> dict[str, tuple[int, bytes, bytes]]:
        """Plain values, for the state file."""
        return {
            label: (n, mean.tobytes(), squares.tobytes())
            for label, (n, mean, squares) in self._known.items()
        }


class Fit:
    """Both watches of one subspace: what they found stays found until that has moved."""

    def __init__(self, table: Mapping[str, Any] | None = None) -> None:
        table = table or {}
        self._errors = Watch(table.get("errors", b""))
        self._distances = Watch(table.get("distances", b""))
        self._places = Places(table.get("places"))

    def moved(self) -> Fit:
        """The same on other axes: where classes lie on these is learned anew."""
        return Fit({"errors": bytes(self._errors.values)})

    def error(self, wrong: bool) -> bool:
        """A label has come; true if errors have become more frequent just now."""
        return self._errors.update(255 if wrong else 0)

    def place(self, z: Matrix, label: str) -> bool:
        """A record that is taken for `label`.

        True if records have moved away from their classes just now.
        """
        distance = self._places.distance(z, label)
        if distance is None:
            return False
        return self._distances.update(round(255 * min(distance, FAR) / FAR))

    def table(self) -> dict[str, Any]:
        """Plain values, for the state file."""
        return {
            "errors": bytes(self._errors.values),
            "distances": bytes(self._distances.values),
            "places": self._places.table(),
        }
