"""The stages of a task: their noise costs what the ledger says, and spends the budget."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsir.privacy import accounting
from fsir.privacy.budget import published_values, sampling_charge, total_mu
from fsir.privacy.claims import statement
from fsir.privacy.moments import Moments
from fsir.privacy.noise import RESOLUTION, sampling_error
from fsir.privacy.plan import (
    FINAL,
    SCREENING,
    all_stages,
    final_stage,
    first_stage,
    minimum_size,
    report_size,
)
from tests.fsir.tasks import mapped, screened, task

TASKS = {
    "one stage": task(5),
    "one stage, units of 3": task(5, privacy={"epsilon": 2.0, "unit_records": 3}),
    "numbers": task(4, response={"classes": None, "cuts": [-1.0, 0.0, 1.0]}),
    "same records": screened(6, share=0.3),
    "fresh records": screened(6, records="fresh"),
    "units of 2, factor": task(
        6, privacy={"unit_records": 2}, screening={"keep": 2, "limit": 4, "final_norm_factor": 0.5}
    ),
    "simplex code": screened(6, code="simplex"),
    "circle code": task(
        6,
        response={"classes": None, "cuts": [-1.0, 0.0, 1.0]},
        screening={"keep": 2, "limit": 4, "final_norm": 1.5, "code": "circle"},
    ),
    "votes": screened(6, method="votes", threshold=0.4),
    "centres only": mapped(5, identity=True),
}
SPLIT = {
    "split": task(6, privacy={"split": 0.7, "unit_records": 2}),
    "split, two stages": task(
        6, privacy={"split": 1.0}, screening={"keep": 2, "limit": 4, "final_norm": 1.5}
    ),
    "map": mapped(6, 3, privacy={"split": 1.0}),
}
ALL = TASKS | SPLIT
every_task = pytest.mark.parametrize("task", ALL.values(), ids=ALL)
free_split = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)


def scales_of(stage):
    """(c, s_M, s_S) that the blocks of a stage really have."""
    s_M = stage.sums.sd
    c = s_M / stage.counts.sd if stage.counts.size else 0.0
    return c, s_M, stage.diagonal.sd if stage.has_second else math.inf


@every_task
def test_the_noise_of_a_stage_gives_the_cost_in_its_ledger(task):
    for stage in all_stages(task):
        c, s_M, s_S = scales_of(stage)
        cost = task.privacy.unit_records * accounting.joint_mu(stage.norm, c, s_M, s_S)
        assert cost == pytest.approx(stage.mu, rel=1e-12)
        if stage.has_second:  # the square root of 2 weight of the upper triangle
            assert stage.off_diagonal.sd * math.sqrt(2.0) == pytest.approx(s_S, rel=1e-12)


@every_task
def test_the_stages_together_spend_the_budget_and_the_samplers_error_is_paid(task):
    stages = all_stages(task)
    costs = [stage.mu for stage in stages]
    mu = max(costs) if task.asks_for_fresh_records else accounting.compose(*costs)
    assert mu == pytest.approx(total_mu(task), rel=1e-12)
    values = sum(sum(stage.sizes) for stage in stages)
    assert values <= published_values(task)
    epsilon, delta = sampling_charge(values, task.privacy.epsilon)
    assert delta >= values * sampling_error(2.0 * RESOLUTION)
    reached = accounting.delta_of(mu, task.privacy.epsilon - epsilon) + delta
    assert reached <= task.privacy.delta
    # Nothing to speak of is given away.
    assert reached == pytest.approx(task.privacy.delta, rel=1e-3)


@every_task
@given(data=st.data())
def test_no_replacement_moves_a_release_further_than_its_cost(task, data):
    records = st.lists(st.floats(-1e3, 1e3), min_size=task.p, max_size=task.p)
    responses = (
        st.sampled_from(task.response.classes) if task.response.classes else st.floats(-2.0, 2.0)
    )
    pairs = [(data.draw(records), data.draw(responses)) for _ in range(2)]
    for stage in all_stages(task):
        first, second = (exact_release(task, stage, x, y) for x, y in pairs)
        moved = math.hypot(*(np.linalg.norm(a - b) for a, b in zip(first, second, strict=True)))
        assert moved * task.privacy.unit_records <= stage.mu * (1 + 1e-12)


@free_split
def test_the_worst_replacement_reaches_the_cost(task):
    x = np.full(task.p, 1e6)
    y = task.response.classes[0] if task.response.classes else 0.5
    for stage in all_stages(task):
        first, second = (exact_release(task, stage, sign * x, y) for sign in (1, -1))
        moved = math.hypot(*(np.linalg.norm(a - b) for a, b in zip(first, second, strict=True)))
        reached = moved * task.privacy.unit_records / stage.mu
        assert reached > 0.99


@pytest.mark.parametrize("task", [SPLIT["split"], SPLIT["split, two stages"]])
def test_the_worst_relabelling_reaches_the_cost_of_a_split(task):
    stage = all_stages(task)[-1]
    x = np.full(6, 1e6)
    first = exact_release(task, stage, x, "a")
    second = exact_release(task, stage, x * ([1, -1] * 3), "b")  # at a right angle
    moved = math.hypot(*(np.linalg.norm(a - b) for a, b in zip(first, second, strict=True)))
    assert moved * task.privacy.unit_records / stage.mu > 0.99


def exact_release(task, stage, x, y):
    """What a single record adds to each block, in standard deviations of the noise."""
    moments = Moments(task, stage)
    moments.learn_many([np.array(x)[list(stage.features)]], [y])
    sums = moments.sums()
    second = moments.second()
    if stage.code:
        sums = sums @ np.array(stage.code, float)
    parts = [sums.reshape(-1), moments.counts() if stage.counts.size else np.empty(0)]
    if second is not None:
        parts += [np.diagonal(second), second[np.triu_indices(stage.p, 1)]]
    return [part * block.unit / block.sd for part, block in zip(parts, stage.blocks, strict=False)]


@every_task
def test_published_values_have_a_resolution_of_an_eighth_of_the_noise_or_better(task):
    for stage in all_stages(task):
        for block in stage.blocks:
            if block.size:
                assert block.step & (block.step - 1) == 0
                ratio = block.sd / block.worth
                assert ratio < 2 * RESOLUTION
                assert ratio >= RESOLUTION * (1 - 1e-8) or block.step == 1
                assert block.variance == pytest.approx(block.sd**2 + block.worth**2 / 12)


SMALLEST_RATIO = 1 / 13  # of lemma 3, where the step is 1
LARGEST = {"gaussian": {0.1: 34.0, 1e-6: 22.0}, "iid": {0.1: 5.7, 1e-6: 8.6}}


def coarsest(mechanism, R, epsilon, delta):
    """As many features as a report can hold, and the smallest clip that their number allows.

    The active set may then be of a single feature, whose clip is that of all over the root of 2040.
    """
    p = 2040
    return task(
        p,
        clip={"truncate": R, "norm": R},
        response={"classes": ["a", "b"]},
        privacy={"mechanism": mechanism, "epsilon": epsilon, "delta": delta},
        screening={
            "limit": p,
            "records": "fresh",
            "final_norm_factor": 1.0000001 * R / 256 / p**0.5,
        },
    )


@pytest.mark.parametrize("R", [1.0, 1.0000001])  # the finest grid, the coarsest
@pytest.mark.parametrize("delta", [0.1, 1e-6])
@pytest.mark.parametrize("mechanism", LARGEST)
def test_small_active_sets_keep_the_ratios_that_the_samplers_proof_needs(mechanism, delta, R):
    extreme = coarsest(mechanism, R, LARGEST[mechanism][delta], delta)
    assert statement(extreme).proven
    ratios = []
    for stage in (first_stage(extreme), *(final_stage(extreme, tuple(range(p))) for p in (1, 2))):
        for block in stage.blocks:
            if block.size:
                ratio = block.sd / block.worth
                assert ratio < 2 * RESOLUTION
                assert ratio >= (SMALLEST_RATIO if block.step == 1 else 1.0)
                ratios.append(ratio)
    if mechanism == "gaussian":
        assert min(ratios) < 1.0  # so the case is not an easy one


@given(st.floats(1e-6, 1e6))
def test_a_truncated_coordinate_fits_sixteen_bits(R):
    stage = first_stage(task(2, clip={"truncate": R, "norm": R}))
    assert math.log2(stage.grid).is_integer()
    assert 2**13 <= R / stage.grid <= 2**14 * (1 + 1e-9)


def test_stages_say_what_they_hold():
    two = screened(6)
    first = first_stage(two)
    last = final_stage(two, (1, 4, 5))
    assert (first.name, first.p, first.has_second) == (SCREENING, 6, False)
    assert (last.name, last.p, last.has_second) == (FINAL, 3, True)
    assert first.sizes == (18, 3, 0, 0)
    assert last.sizes == (9, 3, 3, 3)
    assert first.grid == last.grid  # kept rows serve both stages
    assert last.norm == 1.5
    assert final_stage(two, (1,)).norm == 1.5
    assert final_stage(screened(6, final_norm=9.0), (1,)).norm == 2.0  # never more than R sqrt(p)


def test_the_sample_size_follows_from_the_tolerated_noise():
    derived = task(5, report={"records": None, "sigma_0": 0.05})
    sd = first_stage(derived).sums.sd
    assert sd / report_size(derived) <= 0.05 < sd / (report_size(derived) - 1)
    by_deadline = task(5, report={"records": 10**6, "sigma_0": 0.05, "deadline": 2_000_000_000})
    assert minimum_size(by_deadline) == report_size(derived)
    assert report_size(by_deadline) == 10**6
    assert minimum_size(task(5, report={"deadline": 2_000_000_000})) == 1
    assert minimum_size(task(5)) == report_size(task(5)) == 100


def test_both_stages_keep_the_tolerated_noise():
    derived = task(
        6,
        report={"records": None, "sigma_0": 0.5},
        screening={"keep": 2, "limit": 4, "final_norm": 1.5, "share": 0.9},
    )
    assert max(stage.sums.sd for stage in all_stages(derived)) / report_size(derived) <= 0.5


@every_task
def test_spans_cut_the_integer_vector_into_its_blocks(task):
    for stage in all_stages(task):
        vector = np.arange(sum(stage.sizes))
        parts = [vector[span] for span in stage.spans]
        assert tuple(map(len, parts)) == stage.sizes
        assert np.concatenate(parts).tolist() == vector.tolist()
