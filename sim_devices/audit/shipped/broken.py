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
from sim_devices.audit.shipped.reference import blocks_of, expected


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


def clips_first(task: Task) -> Path:
    """An agent that clips a mapped record before it takes the centre of its slice away."""
    if task.public is None:
        raise AuditError(f"task {task.name!r} has no public centres: give one that has")
    P = task.public.matrix(task.p)
    centres = task.public.centre_rows()
    path = through_agent(task)

    def publish(X: Matrix, y: Sequence[Any]) -> list[bytes]:
        (raw,) = path(X, y)
        law = expected(task, plan.FINAL, (X, y))
        slices = task.slicing.slices_of(list(y))
        R = task.clip.truncate
        rows = np.clip((X - task.features.centre) / task.features.scale, -R, R) @ P
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows *= np.minimum(1.0, task.clip.norm / np.maximum(lengths, 1e-300))
        wrong = np.concatenate(blocks_of(law.stage, rows - centres[slices], slices))
        moved = np.rint((wrong - law.mean) / law.worth).astype(np.int64)
        report = decode(raw, Report)
        pairs = zip(report.blocks, law.stage.spans, strict=True)
        return [encode(replace(report, blocks=tuple(b + moved[span] for b, span in pairs)))]

    return publish


BROKEN: dict[str, Callable[[Task], Path]] = {
    "no-noise": with_noise(NoNoise),
    "half-noise": with_noise(HalvedNoise),
    "reused-noise": with_noise(lambda: ReusedNoise(_secret())),
    "renoised": renoised,
    "unweighted": unweighted,
    "raw-votes": raw_votes,
    "clip-first": clips_first,
}
