"""What any so many records of a device tell together, over all that it releases.

The promise of a task is about one unit of records; a group costs more. If it has `a_k` records in
release k, that costs at most `a_k` times what a record does, and by convexity all of it together at
most as much as if the whole group bore what the worst of its records bears: so many times the cost
of that record (docs/privacy.md, theorems 5 and 13). Where reports are about fewer records than the
group has, the rounds of a task hold only part of it each, which `group_cost` knows exactly. Tasks
and stages add up as `mu^2`, as if the group were in all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from edge_agent.consent.budget import Cost, load
from fsir.privacy.budget import epsilon_drawn
from fsir.task.task import Task


class Group(NamedTuple):
    """Releases of one stage of a task; with the task it is known how many records each holds."""

    costs: Sequence[Cost]
    task: Task | None = None

    def mu(self, records: int) -> float:
        """What any so many records cost in them."""
        alone = [cost._replace(mu=cost.mu / cost.unit_records) for cost in self.costs]
        bound = records * math.sqrt(load(alone)[0])
        if self.task is None:
            return bound
        from fsir.privacy.rounds.groups import group_cost

        sources = len({cost.source for cost in self.costs})
        return min(bound, sources * group_cost(self.task, records))

    @property
    def numbers(self) -> int:
        """Numbers published; a group may be in each of the releases."""
        most = max(cost.numbers for cost in self.costs)
        if self.costs[-1].chain:  # each has those of all rounds
            return most
        return most * max(len(self.costs), 1 if self.task is None else self.task.rounds)


def group_epsilon(groups: Iterable[Group], records: int, delta: float) -> float:
    """The epsilon, at `delta`, of everything together, for any so many records.

    Infinite where nothing is proven: also where the error of the sampler alone exceeds `delta`,
    which it does from epsilon 38 on.
    """
    some = list(groups)
    squared = sum(group.mu(records) ** 2 for group in some)
    return epsilon_drawn(math.sqrt(squared), sum(group.numbers for group in some), delta)
