"""The audit's own arithmetic agrees with the shipped one, and is not made of it."""

from __future__ import annotations

import ast
import inspect

import numpy as np
import pytest

from fsir.privacy import budget
from fsir.privacy.moments import Moments
from sim_devices.audit.shipped import cases, reference
from sim_devices.audit.shipped.canary import labels_of, length
from sim_devices.audit.shipped.reference import expected, stage_names, total_mu

CASES = {case.name: case for case in cases.all_cases()}


def random_stream(task, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((length(task), task.p)) * rng.choice([0.1, 1.0, 50.0], (1, task.p))
    return X, rng.choice(labels_of(task), length(task)).tolist()


@pytest.mark.parametrize("name", CASES)
def test_sums_noise_and_cost_are_those_of_the_plan(name):
    task = CASES[name].task
    stream = random_stream(task)
    for place, stage_name in enumerate(stage_names(task)):
        law = expected(task, stage_name, stream)
        stage = law.stage
        start = place * length(task) // 2 if task.asks_for_fresh_records else 0
        moments = Moments(task, stage)
        rows = slice(start, start + task.report.records)
        moments.learn_many(stream[0][rows][:, list(stage.features)], stream[1][rows])
        sums = moments.sums() @ np.array(stage.code, float) if stage.code else moments.sums()
        assert law.mean[stage.spans[0]] == pytest.approx(sums.reshape(-1) * stage.sums.unit)
        if stage.has_second:
            diagonal = np.diagonal(moments.second()) * stage.diagonal.unit
            assert law.mean[stage.spans[2]] == pytest.approx(diagonal)
        sds = np.concatenate([np.full(block.size, block.sd) for block in stage.blocks])
        assert law.sd == pytest.approx(sds, rel=1e-6)
        assert law.mu == pytest.approx(stage.mu, rel=1e-6)


def test_the_whole_budget_is_the_same():
    for case in CASES.values():
        assert total_mu(case.task) == pytest.approx(budget.total_mu(case.task), rel=1e-6)


def test_nothing_that_quantises_or_draws_is_asked_for_help():
    tree = ast.parse(inspect.getsource(reference))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    names = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert not any(module.startswith("edge_agent") for module in modules)
    assert not names & {"Moments", "Quantiser", "Sums", "release", "accounting", "budget"}
