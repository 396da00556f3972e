"""How much noise each mechanism adds, and out of which share of the budget."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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


# --- the split between sums and second moment -----------------------------------------------------


@given(st.floats(0.01, 100.0), st.floats(0.001, 10.0), st.floats(0.05, 2.0))
def test_any_split_costs_what_it_is_meant_to_cost(C, mu, x):
    s_M, s_S, c = accounting.split_scales(C, mu, x)
    assert accounting.joint_mu(C, c, s_M, s_S) == pytest.approx(mu, rel=1e-12)
    assert (C / s_M) ** 2 == pytest.approx(x * (C * C / s_S) ** 2, rel=1e-12)
    # The counts have all the weight that is free: a little more would cost.
    assert accounting.joint_mu(C, 1.01 * c, s_M, s_S) > mu


@given(st.floats(0.01, 100.0), st.floats(0.001, 10.0))
def test_a_split_of_2_is_the_free_one(C, mu):
    assert accounting.split_scales(C, mu, 2.0) == pytest.approx(
        accounting.free_scales(C, mu), rel=1e-14
    )


@pytest.mark.parametrize("x", [0.0, -1.0, 2.001, math.nan])
def test_a_split_outside_of_the_proof_is_an_error(x):
    with pytest.raises(accounting.AccountingError, match="free split"):
        accounting.split_scales(1.0, 1.0, x)


@pytest.mark.parametrize("x", [0.05, 0.3, 1.0, 1.7, 2.0])
def test_no_neighbours_found_by_search_are_farther_apart_than_the_cost(x):
    """Replaced within a slice, relabelled, both, and null: all on one plane, which is enough.

    A null record is zero with a count of zero; two records span a plane, and the release sees only
    their lengths and the angle between them.
    """
    C = 1.7
    mu = 0.4
    s_M, s_S, c = accounting.split_scales(C, mu, x)
    lengths = np.linspace(0.0, C, 41)
    cosines = np.linspace(-1.0, 1.0, 201)
    a, b, cos = np.meshgrid(lengths, lengths, cosines, indexing="ij")
    second = (a**4 + b**4 - 2.0 * (a * b * cos) ** 2) / s_S**2
    within = (a**2 + b**2 - 2.0 * a * b * cos) / s_M**2 + second
    across = (a**2 + b**2 + 2.0 * c**2) / s_M**2 + second
    null = (a**2 + c**2) / s_M**2 + a**4 / s_S**2
    farthest = math.sqrt(max(within.max(), across.max(), null.max()))
    assert farthest <= mu * (1 + 1e-12)
    assert farthest > 0.999 * mu
    assert math.sqrt(null.max()) <= mu / math.sqrt(2.0) * (1 + 1e-12)
