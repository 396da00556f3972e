"""Whom an owner trusts with reports: one aggregator, or only two who open sums together."""

from __future__ import annotations

from math import inf

from fsir.privacy.claims import epsilon_if_both_collude, statement
from fsir.task.task import SECURE, Task

ANY = "any"  # what an owner may say about aggregation
LOCAL = "local"
AGGREGATIONS = (ANY, SECURE, LOCAL)
ROUNDING = 1.0 + 1e-9  # costs are split and put together again in floating point


def refusals(task: Task, accepted: str, cap: float, delta: float) -> list[str]:
    """Why the owner does not trust who gets the reports; empty if he does.

    The cap is what the task may cost at this delta if both of its aggregators worked together.
    """
    if task.secure is None:
        return [] if accepted != SECURE else [_ONE]
    names = f"{task.secure.leader.name!r} and {task.secure.helper.name!r}"
    if accepted == LOCAL:
        return [
            f"most of its noise is added by {names}; the owner accepts only tasks in which "
            'the device adds all of it: aggregation = "local"'
        ]
    epsilon = epsilon_if_both_collude(task, delta)
    if epsilon == inf and not statement(task).proven:
        return []  # no noise at all, which the owner has accepted by name, or not
    if epsilon <= cap * ROUNDING:
        return []
    from fsir.privacy.describe import rounded_up

    return [
        f"it would cost epsilon {rounded_up(epsilon)} if {names} worked together; "
        f"the owner's cap is epsilon_if_both_collude = {cap:g} at delta {delta:g}"
    ]


_ONE = (
    "one aggregator sees each of its reports; the owner accepts only tasks of which "
    'two aggregators open sums: aggregation = "secure"'
)
