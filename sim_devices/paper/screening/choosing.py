"""Two reports or four: decided from the task alone, before anything is reported.

A funnel spends on finding features what two reports leave for the estimate. It is worth that where
the noise of the mechanism hides features that the records would show: where one report about all
features has more noise than sampling itself.
"""

from __future__ import annotations

from fsir.privacy.plan import first_stage
from sim_devices.paper.cells import Cell
from sim_devices.paper.screening.ways import WAYS, high_task

TWO_REPORTS = "secure"
FOUR_REPORTS = "secure-funnel"


def noise_over_sampling(cell: Cell) -> float:
    """Variance of the mechanism over that of sampling, in an entry of the first of two reports
    after all clients were opened together."""
    way = WAYS[TWO_REPORTS]
    stage = first_stage(high_task(cell, way.before, way=way))
    noises = cell.clients + 2.0 * (stage.cohort or 0)
    N = cell.n * cell.clients
    sampling = 1.0 / (N * stage.columns)  # standardised features, codes of length 1
    return noises * stage.sums.variance / N**2 / sampling


def chosen(cell: Cell) -> str:
    """The way of a cell in which two aggregators open sums."""
    return FOUR_REPORTS if noise_over_sampling(cell) > 1.0 else TWO_REPORTS
