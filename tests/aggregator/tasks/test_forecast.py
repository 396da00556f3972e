"""The yardstick of a forecast is what directions drawn by lot would give."""

from __future__ import annotations

import numpy as np
import pytest

from aggregator.tasks.forecast import random_loss
from fsir.estimate.subspace import projection_loss


@pytest.mark.parametrize(("d", "p"), [(1, 3), (2, 10), (5, 6)])
def test_directions_by_lot_are_so_far_off(d, p):
    rng = np.random.default_rng(0)
    drawn = [projection_loss(*rng.normal(size=(2, p, d))) ** 2 for _ in range(2000)]
    assert np.mean(drawn) ** 0.5 == pytest.approx(random_loss(d, p), rel=0.03)
