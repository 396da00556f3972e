"""What is proven about the release of a task, for programs and people."""

from __future__ import annotations

import math
from typing import NamedTuple

from fsir.privacy import accounting
from fsir.privacy.budget import drawn_values, epsilon_drawn, published_values, sampling_charge
from fsir.privacy.noise import FAR_MASS
from fsir.privacy.plan import final_stage, first_stage
from fsir.task.task import CORRELATED, SECURE, Task


class Statement(NamedTuple):
    """What is known about a mechanism."""

    mechanism: str
    proven: bool
    reason: str


_KNOWN = {
    "gaussian": Statement(
        "gaussian",
        True,
        "one joint Gaussian release, exact accounting (docs/privacy.md, theorem 1)",
    ),
    "vgm": Statement(
        "vgm",
        False,
        "its covariance comes from the private data: a single record can be seen (E3)",
    ),
    SECURE: Statement(
        "gaussian",
        True,
        "one joint Gaussian release, of which two aggregators open sums "
        "(docs/privacy.md, theorems 1 and 15)",
    ),
    CORRELATED: Statement(
        "gaussian",
        True,
        "rounds of one joint Gaussian release each, with correlated noise, exact accounting "
        "(docs/privacy.md, theorems 1 and 13)",
    ),
    "none": Statement("none", False, "no noise at all: the report is the data's own sums"),
}


def statement(task: Task) -> Statement:
    """Whether the release of this task is proven to meet the (epsilon, delta) that it claims.

    Parameters
    ----------
    task
        The task.

    Returns
    -------
    Statement
        `mechanism`, `proven` and the `reason`.

    References
    ----------
    The proofs stand in docs/privacy.md, and so do the errata (E1 to E11) of the paper.

    Examples
    --------
    >>> import fsir
    >>> task = fsir.task_from_table({
    ...     "name": "example",
    ...     "features": {"names": ["a", "b"]},
    ...     "response": {"classes": ["no", "yes"]},
    ...     "clip": {"truncate": 2, "norm": 2.5},
    ...     "privacy": {"epsilon": 1},
    ...     "report": {"records": 100},
    ... })
    >>> fsir.statement(task).proven
    True
    >>> table = {**task.table(), "privacy": {"epsilon": 1, "mechanism": "none"}}
    >>> fsir.statement(fsir.task_from_table(table)).reason
    "no noise at all: the report is the data's own sums"
    """
    mechanism = task.privacy.mechanism
    if task.secure is not None and mechanism == "gaussian":
        return _KNOWN[SECURE]
    if task.correlates_noise:
        return _KNOWN[CORRELATED]
    return _KNOWN.get(mechanism) or _classical(task)


def _classical(task: Task) -> Statement:
    """What `iid` really costs, by the exact accounting of its noise."""
    privacy = task.privacy
    epsilon, delta = sampling_charge(drawn_values(task), privacy.epsilon)
    exact = min(1.0, accounting.delta_of(total_cost(task), privacy.epsilon - epsilon) + delta)
    reason = (
        "classical Gaussian noise (docs/privacy.md, theorem 2): "
        f"exact delta at epsilon {privacy.epsilon:g} is {exact:.2e}, claimed {privacy.delta:.2e}"
    )
    return Statement(privacy.mechanism, exact <= privacy.delta, reason)


def total_cost(task: Task) -> float:
    """The cost of all reports of a device for the unit that is worst off."""
    costs = [first_stage(task).mu]
    if task.screening is not None:
        # The lemma asks for less noise with fewer features: an active set of one is the worst case.
        costs.append(final_stage(task, (0,)).mu)
    return max(costs) if task.asks_for_fresh_records else accounting.compose(*costs)


class Promise(NamedTuple):
    """What all reports of a task cost towards somebody, at the task's delta."""

    against: str
    epsilon: float


def promises(task: Task) -> tuple[Promise, ...]:
    """What is promised, by who is hostile; one line where one aggregator sees every report."""
    epsilon = task.privacy.epsilon
    if task.secure is None:
        return (Promise("everybody else", epsilon),)
    leader = task.secure.leader.name
    helper = task.secure.helper.name
    return (
        Promise(f"everybody else, if one of {leader!r} and {helper!r} is honest", epsilon),
        Promise(f"{leader!r} and {helper!r} together", epsilon_if_both_collude(task)),
        Promise("the broker and the network", 0.0),
    )


def epsilon_if_both_collude(task: Task, delta: float | None = None) -> float:
    """What the reports cost towards two aggregators who open them one by one.

    At the task's own `delta` unless another is given. Then only the device's own noise is left, a
    `sqrt(cohort)`-th of all (docs/privacy.md, theorem 15 b). Without a second aggregator the one
    that there is sees every report, and its epsilon is the task's.
    """
    cohort = 1 if task.secure is None else task.secure.cohort
    mu = total_cost(task) * math.sqrt(cohort)
    if mu == math.inf:
        return math.inf
    delta = task.privacy.delta if delta is None else delta
    return epsilon_drawn(mu, published_values(task), delta)


def odds_factor(task: Task) -> float:
    """How far all reports raise the odds of the true one of two contents of a unit.

    That is, except with probability delta, and whatever anybody makes of the reports. The sampler's
    error is taken where it makes the factor larger (docs/privacy.md, proposition 9).
    """
    values = drawn_values(task)
    relative, variation = sampling_charge(values, -math.inf)
    delta = task.privacy.delta - variation
    other = delta / accounting.worst_odds_factor(total_cost(task), delta) - values * FAR_MASS
    return math.exp(relative) * task.privacy.delta / other if other > 0.0 else math.inf
