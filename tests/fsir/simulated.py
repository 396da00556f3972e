"""Simulated federations of the paper's models, in low dimension, for the tests of the estimate."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fsir.contract import task_from_table
from fsir.estimate.totals import Totals
from fsir.privacy.moments import Moments
from fsir.privacy.plan import first_stage
from fsir.task.task import Task
from sim_devices.datasets.models import cut_points, simulate, true_basis
from sim_devices.paper.exact import ExactMoments
from sim_devices.paper.merged_release import clip_norm, merged_release

P = 10


def model_task(
    model: str, n: int, epsilon: float, delta: float = 1e-6, d: int | None = None, **privacy: str
) -> Task:
    """The task of a model with the public rule for the clip.

    `epsilon` and `delta` are all that a device spends.
    """
    return task_from_table(
        {
            "name": f"model-{model}",
            "features": {"names": [f"x{j}" for j in range(P)]},
            "response": {"cuts": list(cut_points(model, P, "low"))},
            "clip": {"truncate": clip_norm(P), "norm": clip_norm(P)},
            "privacy": {"epsilon": epsilon, "delta": delta, **privacy},
            "report": {"records": n},
            **({} if d is None else {"dimension": d}),
        }
    )


def true_directions(model: str) -> np.ndarray:
    """The subspace that all federations of a model share."""
    return true_basis(model, P, "low", np.random.default_rng(2013))


def exact_moments(task: Task, model: str, records: int, rng: np.random.Generator) -> ExactMoments:
    """Exact clipped moments of so many records."""
    moments = Moments(task, first_stage(task))
    for start in range(0, records, 2**16):
        X, y = simulate(
            model, min(2**16, records - start), P, "low", rng, basis=true_directions(model)
        )
        moments.learn_many(X, y)
    return ExactMoments(records, moments.sums(), moments.counts(), moments.second())


def federations(
    tasks: list[Task], model: str, n: int, K: int, count: int
) -> Iterator[tuple[ExactMoments, list[Totals]]]:
    """`count` federations.

    What their records add up to, and what the aggregator holds of it under each task.
    """
    for seed in range(count):
        rng = np.random.default_rng([seed, n, K])
        exact = exact_moments(tasks[0], model, n * K, rng)
        yield exact, [merged_release(first_stage(task), exact, K, rng) for task in tasks]
