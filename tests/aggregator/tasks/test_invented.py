"""An invented fleet has the noise that a real one would have."""

from __future__ import annotations

import numpy as np
import pytest

from aggregator.tasks.invented import Fleet
from fsir.estimate.trimming import inflation_of_groups
from fsir.privacy.plan import first_stage
from tests.fsir.tasks import shared, task


@pytest.mark.parametrize(
    ("made", "devices", "noises"),
    [
        (task(30), 40, 40.0),
        (shared(30, cohort=20), 10, 10.0 + 40.0),  # what one cohort would have
        (shared(30, cohort=20), 40, 40.0 + 80.0),
        (shared(30, cohort=10, groups=4), 40, 40.0 + 80.0),
    ],
)
def test_its_sums_scatter_as_those_of_so_many_devices_and_cohorts(made, devices, noises):
    stage = first_stage(made)
    fleet = Fleet.of(made, stage, 100, devices)
    rng = np.random.default_rng(1)
    zero = {block.name: np.zeros(block.size) for block in stage.blocks}
    drawn = [fleet.totals(zero, rng) for _ in range(100)]
    assert drawn[0].noises == noises
    groups = 1 if made.secure is None else made.secure.groups
    assert drawn[0].inflation == inflation_of_groups(groups)
    sums = np.stack([totals.sums() for totals in drawn])
    variance = drawn[0].inflation * noises * stage.sums.sd**2
    assert sums.var() == pytest.approx(variance, rel=0.1)
