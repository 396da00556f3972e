"""How much noise each mechanism adds, and out of which share of the budget."""

from __future__ import annotations

import math

import pytest

from fsir.errors import TaskError
from fsir.privacy import accounting
from fsir.privacy.plan import first_stage
from tests.fsir.tasks import task


def test_e11_a_unit_of_g_records_gets_g_times_the_noise():
    one, three = (first_stage(task(5, privacy={"unit_records": g})) for g in (1, 3))
    for a, b in zip(one.blocks, three.blocks, strict=True):
        assert b.sd == pytest.approx(3.0 * a.sd, rel=1e-12)
    assert one.mu == three.mu  # per unit


@pytest.mark.parametrize("mechanism", ["iid", "vgm", "none"])
def test_only_the_default_asks_the_budget_to_pay_for_the_sampler(mechanism):
    far = task(5, privacy={"mechanism": mechanism, "epsilon": 500.0})
    assert first_stage(far).mechanism == mechanism
    with pytest.raises(TaskError, match="sampler"):
        task(5, privacy={"epsilon": 500.0})


def test_the_papers_mechanisms_split_the_budget_over_their_parts():
    stage = first_stage(task(5, privacy={"mechanism": "iid", "epsilon": 2.0, "delta": 1e-4}))
    assert (stage.epsilon, stage.delta) == (1.0, 5e-5)
    assert stage.sums.sd == pytest.approx(accounting.classical_sigma(2.0 * stage.norm, 1.0, 5e-5))
    assert stage.diagonal.sd == pytest.approx(
        accounting.lemma_sigma(5, 1, 1.0, 5e-5) * stage.norm**2
    )
    assert math.isfinite(stage.mu)
    three = first_stage(task(6, privacy={"mechanism": "iid"}, screening={"final_norm": 1.5}))
    assert three.epsilon == pytest.approx(1 / 3)
    assert first_stage(task(5, privacy={"mechanism": "vgm"})).mu == math.inf
    bare = first_stage(task(5, privacy={"mechanism": "none"}))
    assert bare.mu == math.inf
    assert {block.sd for block in bare.blocks} == {0.0}
    assert {block.step for block in bare.blocks} == {1}
