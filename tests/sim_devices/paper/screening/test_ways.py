"""Ways through the high-dimensional tables: budgets, slices, and what is added where sums are
opened."""

from __future__ import annotations

import numpy as np
import pytest

from fsir.privacy.budget import total_mu
from fsir.privacy.plan import final_stage, first_stage
from sim_devices.datasets.models import response_cdf
from sim_devices.paper.cells import ExperimentError
from sim_devices.paper.high import HIGH_MECHANISMS, SHARED_MECHANISMS, HighReplication
from sim_devices.paper.means import run_cell
from sim_devices.paper.screening.ways import REFINED, WAYS, high_task, public_cuts
from sim_devices.paper.tables import SECURE, wanted_cells
from tests.sim_devices.paper.places import high

CELL = high("III", 1.0, 500, 10)


@pytest.mark.parametrize("name", WAYS)
def test_all_reports_of_a_way_share_the_papers_total(name):
    way = WAYS[name]
    sizes = [500, *(keep for keep, _ in way.stages if keep is not None)]
    before = [
        first_stage(high_task(CELL, share, p, way)).mu ** 2
        for (_, share), p in zip(way.stages, sizes, strict=True)
    ]
    task = high_task(CELL, way.before, way=way)
    after = final_stage(task, (0, 1, 2)).mu ** 2
    assert (task.privacy.epsilon, task.privacy.delta) == (2.0, 2.0 * CELL.delta)
    assert sum(before) + after == pytest.approx(total_mu(high_task(CELL, 0.5)) ** 2, rel=1e-6)


@pytest.mark.parametrize("clients", [10, 50, 100])
def test_each_of_two_adds_what_a_device_with_local_noise_would(clients):
    cell = high("III", 1.0, 500, clients)
    local, shared = (first_stage(high_task(cell, 0.5, way=WAYS[n])) for n in ("refined", "secure"))
    for alone, together in zip(local.blocks, shared.blocks, strict=True):
        assert together.added == pytest.approx(alone.sd, rel=1e-6)
        assert together.sd == pytest.approx(alone.sd / min(20, clients) ** 0.5, rel=1e-6)


@pytest.mark.parametrize("model", ["II", "III", "IV", "V"])
def test_refined_slices_have_the_probabilities_that_they_say(model):
    cuts = np.array(public_cuts(model, 500, refined=True))
    assert response_cdf(model, cuts, 500, "high") == pytest.approx(REFINED, abs=1e-3)
    assert len(cuts) == len(public_cuts(model, 500, refined=False))


def test_ways_that_slice_otherwise_are_not_run_on_the_same_sums():
    with pytest.raises(ExperimentError, match="finer slices"):
        HighReplication(0, 1, [CELL], ["gaussian", "secure"])
    assert not {WAYS[name].refined for name in HIGH_MECHANISMS if name in WAYS} & {True}
    assert {WAYS[name].refined for name in SHARED_MECHANISMS if name in WAYS} == {True}


def test_nobody_opens_the_sum_of_one():
    assert {cell.clients for cell in wanted_cells("high", SECURE)} == {10, 50, 100}


def test_ten_clients_are_worth_more_where_sums_are_opened():
    cell = high("V", 1.0, 500, 10)
    local, shared = (run_cell(cell, name, "tables", 3, 1) for name in ("refined", "secure-funnel"))
    assert shared.loss < 0.7 * local.loss
