"""What it costs that a report may be held."""

from __future__ import annotations

from edge_agent.consent.budget import Cost, total_epsilon
from edge_agent.consent.planned import planned
from edge_agent.consent.policy import Policy
from edge_agent.watch.threshold import Threshold
from fsir.privacy.plan import report_size
from fsir.task.task import Task


def with_hold(task: Task, policy: Policy) -> float | None:
    """Epsilon of all reports of a task and of deciding whether they are held, at the task's delta.

    Infinite where nothing is proven. None where they never are held: the owner does not want it,
    they are about too few records, or the cap has no room for it.
    """
    threshold = Threshold(task)
    if not policy.hold or not threshold.judges(report_size(task)):
        return None
    judged = Cost(mu=threshold.mu, numbers=1, source="", first=0, last=0)
    costs = [*planned(task), judged]
    return None if policy.over_budget(costs, ()) else total_epsilon(costs, task.privacy.delta)
