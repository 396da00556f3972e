"""The law of rounds that the audit asks about is the shipped one."""

import math

import numpy as np
import pytest

from fsir.privacy.plan import first_stage
from sim_devices.audit.rounds.law import RoundsLaw, cost, factor_of
from sim_devices.audit.rounds.questions import as_shipped, records_of, task_of


def test_the_factor_is_the_matrix_of_coefficients():
    stage = first_stage(task_of(5))
    b = stage.factorisation.coefficients
    expected = [[b[t - s] if t >= s else 0.0 for s in range(5)] for t in range(5)]
    assert factor_of(stage, 5) == pytest.approx(np.array(expected), abs=1e-15)


def test_independent_rounds_have_normals_of_their_own():
    assert np.array_equal(factor_of(first_stage(task_of(3, noise="independent")), 3), np.eye(3))


def test_the_cost_is_that_of_the_covariance():
    rng = np.random.default_rng(1)
    factor = np.tril(rng.normal(size=(4, 4)))
    sd = np.array([2.0, 3.0])
    first, second = (RoundsLaw(rng.normal(size=(4, 2)), sd, factor) for _ in range(2))
    away = (first.mean - second.mean) / sd
    squared = np.trace(away.T @ np.linalg.inv(factor @ factor.T) @ away)
    assert cost(first, second) == pytest.approx(math.sqrt(squared))


def test_what_no_normals_explain_costs_everything():
    mean = np.array([[0.0], [1.0]])
    law = RoundsLaw(mean, np.ones(1), np.array([[1.0], [1.0]]))
    assert math.isinf(cost(law, RoundsLaw(np.zeros((2, 1)), law.sd, law.factor)))
    assert cost(law, RoundsLaw(mean - 1.0, law.sd, law.factor)) == pytest.approx(1.0)


def test_fewer_rounds_never_cost_more():
    task = task_of(6)
    records = records_of(task)
    first = as_shipped(task, records)
    second = as_shipped(task, records.replaced(9, np.full(task.p, -1.0), 0))
    whole = cost(first, second)
    for rounds in ([0, 1], [1], [1, 3, 5], [2, 3]):
        assert cost(first.only(rounds), second.only(rounds)) <= whole * (1 + 1e-12)
