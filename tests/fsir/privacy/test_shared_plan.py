"""The plan where only sums are opened: a device's part of the noise, and all of it on top."""

from __future__ import annotations

import math

import pytest

from fsir.contract import task_from_table
from fsir.privacy import accounting
from fsir.privacy.budget import drawn_values, draws, published_values, total_mu
from fsir.privacy.claims import epsilon_if_both_collude, total_cost
from fsir.privacy.noise import RELATIVE_ERROR, sampling_error, values_charged
from fsir.privacy.plan import all_stages, final_stage, first_stage
from tests.fsir.tasks import mapped, shared, shared_table, task

SCREENING = {"keep": 1, "limit": 3, "final_norm": 1.2}
COHORTS = (2, 5, 20, 100, 400)


def local(secured):
    """The task with the same budget in which every device has all of the noise."""
    return {key: value for key, value in secured.items() if key not in ("aggregation", "secure")}


def tables():
    for cohort in COHORTS:
        for epsilon in (0.1, 1.0, 2.0):
            if epsilon * cohort**0.5 <= 10.0:
                yield shared_table(cohort=cohort, privacy={"epsilon": epsilon})
                yield shared_table(
                    6, cohort=cohort, privacy={"epsilon": epsilon}, screening=SCREENING
                )


@pytest.mark.parametrize("secured", list(tables()))
def test_each_aggregator_adds_what_a_device_alone_would_and_a_device_its_part(secured):
    plan = all_stages(task_from_table(secured))
    alone = all_stages(task_from_table(local(secured)))
    cohort = secured["secure"]["cohort"]
    for stage, other in zip(plan, alone, strict=True):
        assert stage.mu == pytest.approx(other.mu, rel=1e-5)
        assert stage.mu <= other.mu  # more draws, of which each is paid for
        assert stage.mu_if_both_collude == pytest.approx(stage.mu * math.sqrt(cohort))
        assert stage.sizes == other.sizes
        for block, same in zip(stage.blocks, other.blocks, strict=True):
            assert block.added == pytest.approx(same.sd, rel=1e-5)
            assert block.sd == pytest.approx(block.added / math.sqrt(cohort), rel=1e-12)
            assert same.added == 0.0


@pytest.mark.parametrize("secured", list(tables()))
def test_noise_is_two_to_four_steps_or_the_data_are_whole(secured):
    for stage in all_stages(task_from_table(secured)):
        for block in stage.blocks:
            ratio = block.sd / block.worth
            assert ratio < 4.0 * (1 + 1e-8)
            # With a step of 1 nothing of the data is rounded, and any noise will do.
            assert block.step == 1 or ratio >= 2.0 * (1 - 1e-8)
            assert ratio >= 1 / 13  # where lemma 3 ends
            assert math.log2(block.step).is_integer()


def test_the_budget_pays_for_the_draws_of_the_honest_aggregator_too():
    task = shared(cohort=100)
    assert draws(None) == 1
    assert draws(task.secure.cohort) == 1 + 3
    assert drawn_values(task) == 4 * published_values(task)
    assert total_mu(task) < total_mu(local_task(task))


def local_task(secured):
    return task_from_table(local(secured.table()))


@pytest.mark.parametrize("ratio", [0.1, 2.0, 15.9, 16.0, 16.1, 40.0, 399.0, 4000.0])
def test_a_value_of_a_large_ratio_is_charged_as_several(ratio):
    times = values_charged(ratio)
    assert sampling_error(ratio) <= times * sampling_error(16.0)
    # What both ends of a cell lose of it, at ten standard deviations (lemma 3 b).
    if ratio >= 1.0:
        s = (10.0 + 0.5 / ratio) / ratio
        loss = 2.0 * (1.0 + s) * (11.0 * ratio * 10.0 + 3.5 * ratio + 8.0) * 2.0**-53
        assert -math.log1p(-loss) < times * RELATIVE_ERROR


def test_both_together_see_a_device_with_its_own_noise_alone():
    secured = shared(cohort=20)
    epsilon = epsilon_if_both_collude(secured)
    mu = total_cost(secured) * math.sqrt(20)
    assert epsilon == pytest.approx(accounting.epsilon_of(mu, 1e-6), rel=1e-6)
    assert 4.9 < epsilon < 5.3  # epsilon 1 becomes about 5
    assert epsilon_if_both_collude(secured, 1e-3) < epsilon
    assert epsilon_if_both_collude(shared(cohort=40)) > epsilon
    assert epsilon_if_both_collude(task()) == pytest.approx(1.0, rel=1e-6)
    assert epsilon_if_both_collude(shared(privacy={"mechanism": "none"})) == math.inf


def test_records_that_are_fresh_cost_the_worse_of_two_reports():
    same = shared(6, screening=SCREENING)
    fresh = shared(6, screening={**SCREENING, "records": "fresh"})
    assert epsilon_if_both_collude(fresh) == pytest.approx(epsilon_if_both_collude(same), rel=1e-3)


def test_a_mapped_stage_and_any_active_set_are_shared_in_the_same_way():
    whole = shared_table()
    parts = {key: whole[key] for key in ("aggregation", "secure")}
    secured = task_from_table(mapped().table() | parts)
    for stage in (first_stage(secured), final_stage(shared(6, screening=SCREENING), (1,))):
        assert stage.cohort == 20
        assert all(block.added > block.sd > 0 for block in stage.blocks if block.size)


def test_without_noise_there_is_none_anywhere():
    stage = first_stage(shared(privacy={"mechanism": "none"}))
    assert {(block.sd, block.added, block.step) for block in stage.blocks} == {(0.0, 0.0, 1)}
    assert stage.mu == math.inf
