"""Agents with one thing broken each, so that the audit can show that it would find out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fsir.arrays import Matrix
from fsir.estimate.votes import ccmd_votes
from fsir.privacy import plan
from fsir.privacy.noise import Noise, SeededNoise, SystemNoise
from fsir.task.task import Task
from fsir.wire.decode import decode
from fsir.wire.messages import Report, encode
from sim_devices.audit.pairs import AuditError
from sim_devices.audit.shipped.agent import Path, through_agent
from sim_devices.audit.shipped.reference import expected


class HalvedNoise(SystemNoise):
    """Half of the noise that the task asks for."""

    def normals(self, count: int) -> Matrix:
        """Normals of standard deviation 1/2."""
        return 0.5 * super().normals(count)


class NoNoise(SystemNoise):
    """Words that all stand for 0."""

    def _bytes(self, count: int) -> bytes:
        return b"\xff" * count


class ReusedNoise(SeededNoise):
    """A generator that is started anew for every stage, from the same secret."""

    def for_stage(self, name: str) -> SeededNoise:
        """The same noise for every stage."""
        return SeededNoise(self._seed, *self._labels)


def _secret() -> int:
    return int.from_bytes(SystemNoise()._bytes(16), "big")


def with_noise(make: Callable[[], Noise]) -> Callable[[Task], Path]:
    """An agent with another source of noise."""
    return lambda task: through_agent(task, make)


def renoised(task: Task, times: int = 2) -> Path:
    """An agent that forgets what it has sent, and makes its report anew when it is asked again."""
    path = through_agent(task)
    return lambda X, y: [raw for _ in range(times) for raw in path(X, y)]


def unweighted(task: Task) -> Path:
    """An agent that takes the same records for fresh ones:
    both stages spend the whole budget on them."""
    return through_agent(task, replay=True)


def raw_votes(task: Task) -> Path:
    """An agent that votes as in the paper, from its data (erratum E8)."""
    if task.screening is None or not task.screens_by_votes:
        raise AuditError(f"task {task.name!r} asks for no votes: give one that does")
    threshold = task.screening.threshold
    path = through_agent(task)

    def publish(X: Matrix, y: Sequence[Any]) -> list[bytes]:
        first, *others = path(X, y)
        law = expected(task, plan.SCREENING, (X, y))
        sums = law.mean[law.stage.spans[0]].reshape(law.stage.p, law.stage.columns)
        report = decode(first, Report)
        votes = ccmd_votes(sums, law.mean[law.stage.spans[1]], report.n, threshold)
        return [encode(replace(report, votes=votes.astype(np.bool_))), *others]

    return publish


BROKEN: dict[str, Callable[[Task], Path]] = {
    "no-noise": with_noise(NoNoise),
    "half-noise": with_noise(HalvedNoise),
    "reused-noise": with_noise(lambda: ReusedNoise(_secret())),
    "renoised": renoised,
    "unweighted": unweighted,
    "raw-votes": raw_votes,
}
