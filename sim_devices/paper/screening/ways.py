"""The private ways through the high-dimensional tables: how many reports, cut how, seen by whom."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from fsir.contract import task_from_table
from fsir.task.task import Task
from sim_devices.datasets.models import Model, cut_points, dimension, response_quantiles
from sim_devices.paper.cells import Cell
from sim_devices.paper.merged_release import NORM_PER_ROOT, clip_norm
from sim_devices.scenarios.tasks import COHORT

# R, beyond any ordinary value; with the 14 bits of the grid it keeps records to 1/2048.
TRUNCATE = 8.0
LIMIT = 48  # the largest active set that a device agrees to
TWO_STAGES = 0.5  # share of mu^2 of the first of two reports
# Features kept after each report (None: those that stand out), and its share of mu^2.
Stages = tuple[tuple[int | None, float], ...]
FUNNEL: Stages = ((256, 0.4), (48, 0.2), (None, 0.15))
STEEPER: Stages = ((256, 0.5), (48, 0.2), (None, 0.15))
# Finer slices where the response is extreme, as many as the paper has.
_LOWER_TAIL = (1 / 32, 1 / 8, 1 / 4)
REFINED = (*_LOWER_TAIL, 0.5, *(1.0 - q for q in reversed(_LOWER_TAIL)))


@dataclass(frozen=True, kw_only=True)
class Way:
    """Reports before the final one; `refined`: slices are finer in the tails; `shared`: two
    aggregators open the sum of all clients, and no report is seen alone."""

    stages: Stages = ((None, TWO_STAGES),)
    refined: bool = False
    shared: bool = False

    @property
    def before(self) -> float:
        """The share of mu^2 of all reports before the final one."""
        return sum(share for _, share in self.stages)


PLAIN = Way()
WAYS = {
    "gaussian": PLAIN,
    "votes": PLAIN,
    "funnel": Way(stages=FUNNEL),
    "refined": Way(stages=STEEPER, refined=True),
    "secure": Way(refined=True, shared=True),
    "secure-funnel": Way(stages=STEEPER, refined=True, shared=True),
}


def public_cuts(model: Model, p: int, *, refined: bool) -> tuple[float, ...]:
    """Cut points of the response in high dimension, from its law and from no data."""
    if model == "I" or not refined:
        return cut_points(model, p, "high")
    quantiles = response_quantiles(model, np.array(REFINED), p, "high")
    return tuple((np.round(quantiles, 6) + 0.0).tolist())


@lru_cache(maxsize=256)
def high_task(cell: Cell, share: float, p: int | None = None, way: Way = PLAIN) -> Task:
    """The task of a cell for the private ways,
    in which reports before the final one have `share` of the budget.

    With `p`, the task of one report of a funnel, about that many of the cell's features.
    """
    p = p or cell.p
    cuts = public_cuts(cell.model, cell.p, refined=way.refined)
    task = task_from_table(
        {
            "name": f"model-{cell.model}",
            "features": {"names": [f"x{j + 1}" for j in range(p)]},
            "response": {"classes": ["0", "1"]} if cell.model == "I" else {"cuts": list(cuts)},
            "clip": {"truncate": TRUNCATE, "norm": clip_norm(p)},
            "privacy": {"epsilon": 2 * cell.epsilon, "delta": 2 * cell.delta},
            "report": {"records": cell.n},
            "screening": {
                "select": "significant",
                "limit": min(LIMIT, p),
                "share": share,
                "code": "simplex" if cell.model == "I" else "circle",
                "final_norm_factor": NORM_PER_ROOT,
            },
            "dimension": dimension(cell.model),
        }
    )
    return opened_together(task, cell) if way.shared else task


def opened_together(task: Task, cell: Cell) -> Task:
    """The same task where two aggregators open the sum of all clients of a cell."""
    from sim_devices.network.parties import secured  # which needs `cryptography`

    return secured(task, min(COHORT, cell.clients))
