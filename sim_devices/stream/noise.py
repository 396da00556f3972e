"""Seeded noise for many rounds: each normal is drawn once, however many rounds need it again."""

from __future__ import annotations

from fsir.arrays import Matrix
from fsir.privacy.noise import Noise, SeededNoise


class DrawnOnce(SeededNoise):
    """The same bits as `SeededNoise`, which draws all normals of earlier rounds again."""

    def __init__(self, seed: int, *labels: str) -> None:
        super().__init__(seed, *labels)
        self._of_stage: dict[str, list[Matrix]] = {}

    def for_stage(self, name: str) -> SeededNoise:
        """Noise that depends on the stage, from its first normal on."""
        return _Replayed(super().for_stage(name), self._of_stage.setdefault(name, []))


class _Replayed(SeededNoise):
    def __init__(self, source: Noise, drawn: list[Matrix]) -> None:
        self._source = source
        self._drawn = drawn
        self._next = 0

    def normals(self, count: int) -> Matrix:
        if self._next == len(self._drawn):
            self._drawn.append(self._source.normals(count))
        found = self._drawn[self._next]
        self._next += 1
        if len(found) != count:
            raise ValueError(f"{count} normals where {len(found)} were drawn before")
        return found
