"""Sensitivities that theorem 1 and its corollaries promise,
asked of the shipped accumulators and plan."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fsir.contract import task_from_table
from fsir.privacy import budget, plan
from sim_devices.audit.bounds.exact import distance
from sim_devices.audit.bounds.laws import Gaussian
from sim_devices.audit.bounds.search import Setting, search
from sim_devices.audit.mechanisms import law_of_stages, learned
from sim_devices.audit.pairs import Records
from sim_devices.audit.subject import law_of_task

P = 4
R = 2.0
C = 3.0
N = 12


def task(unit=1, cuts=False, **screening):
    table = {
        "name": "units",
        "features": {
            "names": [f"x{j}" for j in range(P)],
            "centre": [1.0, 0.0, -2.0, 5.0],
            "scale": [1.0, 2.0, 0.1, 3.0],
        },
        "response": {"cuts": [-1.0, 0.0, 1.0]} if cuts else {"classes": ["a", "b", "c"]},
        "clip": {"truncate": R, "norm": C},
        "privacy": {"epsilon": 1.0, "delta": 1e-6, "unit_records": unit},
        "report": {"records": N},
    }
    if screening:
        table["screening"] = {"final_norm": C, "limit": P, "keep": 1, **screening}
    return task_from_table(table)


def data(slices, unit=1, seed=0):
    """Long records, the first unit of them exactly on the clip and alike."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, P))
    X[:unit] = C / math.sqrt(P)
    return Records(X, np.arange(N) % slices if unit == 1 else np.repeat(0, N))


def worst_epsilon(task, records, unit):
    setting = Setting(slices=task.slicing.count, truncate=R, norm=C, unit=unit)
    return search(law_of_task(task, N), records, setting, 1.0, 1e-6)[0].epsilon


CASES = {
    "one report": {},
    "same records": {"records": "same", "share": 0.3},
    "simplex": {"records": "same", "code": "simplex"},
    "circle": {"records": "same", "code": "circle", "cuts": True},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("unit", [1, 3])
def test_replacing_a_unit_costs_what_the_task_claims_and_no_more(case, unit):
    contract = task(unit, **CASES[case])
    epsilon = worst_epsilon(contract, data(contract.slicing.count, unit), unit)
    assert epsilon <= 1.0
    assert epsilon > 0.97  # response codes are rounded to 1/1024 and stay below length 1


def test_a_unit_that_is_larger_than_the_task_says_is_found():
    assert worst_epsilon(task(unit=1), data(3, unit=2), unit=2) > 1.5


def law_of_fresh(contract, records):
    """The law of two reports about the first and the second half of the records."""
    stages = [plan.first_stage(contract), plan.final_stage(contract, tuple(range(P)))]
    halves = [
        Records(records.X[k * N : (k + 1) * N], records.slices[k * N : (k + 1) * N]) for k in (0, 1)
    ]
    laws = [
        law_of_stages(plain(contract), [stage], half)
        for stage, half in zip(stages, halves, strict=True)
    ]
    return Gaussian(
        np.vstack([law.mean for law in laws]), np.concatenate([law.variances for law in laws])
    )


def plain(contract):
    """The contract for records that are standardised already."""
    table = contract.table()
    table["features"] = {"names": list(contract.features.names)}
    table["response"] = {"classes": ["0", "1", "2"]}
    return task_from_table(table)


@pytest.mark.parametrize("inside", [0, 1, 2, 3, 4])
def test_a_unit_that_straddles_two_fresh_stages_costs_no_more_than_one_inside(inside):
    """`a^2 + (g - a)^2 <= g^2`, with g = 4 records of which `inside` are in the first report."""
    contract = task(unit=4, records="fresh")
    X = np.tile(np.full(P, C / math.sqrt(P)), (2 * N, 1))
    first = Records(X, np.zeros(2 * N, np.int64))
    start = N - inside
    Y = X.copy()
    Y[start : start + 4] *= -1.0
    mu = distance(law_of_fresh(contract, first), law_of_fresh(contract, Records(Y, first.slices)))
    total = budget.total_mu(contract)
    # A record turned around moves the sums alone, at full cost; the grid takes a little away.
    assert mu == pytest.approx(total * math.hypot(inside, 4 - inside) / 4, rel=1e-3)
    assert mu <= total


def test_a_record_that_disappears_from_a_fresh_stream_costs_up_to_a_factor_of_sqrt_2():
    """Later records move up, so that both reports change by one record:
    why the unit is a replaced, accepted record."""
    contract = task(records="fresh")
    v = np.full(P, C / math.sqrt(P))
    X = np.tile(v, (2 * N + 1, 1))
    # It comes into the first report once the record at 0 is gone, and a `v` takes its place in the
    # second.
    X[N] = -v
    slices = np.zeros(2 * N, np.int64)
    mu = distance(
        law_of_fresh(contract, Records(X[:-1], slices)),
        law_of_fresh(contract, Records(X[1:], slices)),
    )
    assert mu == pytest.approx(math.sqrt(2.0) * budget.total_mu(contract), rel=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_no_pair_of_records_moves_a_stage_further_than_its_cost(seed):
    rng = np.random.default_rng(seed)
    contract = plain(task(records="same"))
    stages = [plan.first_stage(contract), plan.final_stage(contract, (0, 2, 3))]
    for _ in range(60):
        X = rng.standard_normal((2, P)) * rng.choice([0.1, 1.0, 50.0])
        labels = rng.integers(0, 3, 2)
        for stage in stages:
            one, other = (
                law_of_stages(contract, [stage], Records(X[k : k + 1], labels[k : k + 1]))
                for k in (0, 1)
            )
            assert distance(one, other) <= stage.mu * (1 + 1e-12)


def test_what_is_learned_is_what_is_audited():
    """The tap reads the values that the release perturbs:
    with a step of 1 and no noise they are the sums."""
    contract = plain(task())
    stage = plan.first_stage(contract)
    records = data(3)
    law = law_of_stages(contract, [stage], records)
    moments = learned(contract, stage, records)
    second = moments.second()
    expected = np.concatenate(
        [
            moments.sums().ravel(),
            moments.counts(),
            np.diagonal(second),
            second[np.triu_indices(P, 1)],
        ]
    )
    assert np.array_equal(law.mean[:, 0], expected)
    sds = np.concatenate([np.full(block.size, block.sd / block.unit) for block in stage.blocks])
    assert np.allclose(np.sqrt(law.variances), sds)
