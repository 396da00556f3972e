"""How much a score owes to who was asked: a standard error over the unseen people.

Records of one person are alike, so that a thousand of them say little about the next person. The
jackknife leaves one person out at a time; it serves shares of records and R^2 alike, and the
difference of two of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim_devices.datasets.population import DeviceStream
from sim_devices.scenarios.control import Measure


def standard_error(
    unseen: Sequence[DeviceStream], measure: Measure, other: Measure | None = None
) -> float | None:
    """Of a score, or of how much it is above another; one person tells nothing about it."""
    if len(unseen) < 2:
        return None
    parts = [[*unseen[:k], *unseen[k + 1 :]] for k in range(len(unseen))]
    scores = np.array([measure(part) - (other(part) if other else 0.0) for part in parts])
    return float(np.sqrt((len(unseen) - 1) * scores.var()))
