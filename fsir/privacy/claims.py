"""What is proven about the release of a task, for programs and people."""

from __future__ import annotations

from dataclasses import dataclass

from fsir.privacy import accounting
from fsir.privacy.plan import final_stage, first_stage, published_values, sampling_charge
from fsir.task.task import Task


@dataclass(frozen=True)
class Statement:
    """What is known about a mechanism."""

    mechanism: str
    proven: bool
    reason: str


def statement(task: Task) -> Statement:
    """Whether the release of this task is proven to meet the (epsilon, delta) that it claims, and why."""
    mechanism = task.privacy.mechanism
    if mechanism == "gaussian":
        return Statement(
            mechanism,
            True,
            "one joint Gaussian release, exact accounting (docs/privacy.md, theorem 1)",
        )
    if mechanism == "vgm":
        return Statement(
            mechanism,
            False,
            "its covariance comes from the private data: a single record can be seen (E3)",
        )
    if mechanism == "none":
        return Statement(mechanism, False, "no noise at all: the report is the data's own sums")
    # The lemma asks for less noise with fewer features: an active set of one is the worst case.
    stages = [first_stage(task)] + ([] if task.screening is None else [final_stage(task, (0,))])
    costs = [stage.mu for stage in stages]
    fresh = task.screening is not None and task.screening.records == "fresh"
    mu = max(costs) if fresh else accounting.compose(*costs)
    charge = sampling_charge(published_values(task), task.privacy.epsilon)
    delta = min(1.0, accounting.delta_of(mu, task.privacy.epsilon - charge[0]) + charge[1])
    met = delta <= task.privacy.delta
    found = f"exact delta at epsilon {task.privacy.epsilon:g} is {delta:.2e}, claimed {task.privacy.delta:.2e}"
    return Statement(
        mechanism, met, f"classical Gaussian noise (docs/privacy.md, theorem 2): {found}"
    )
