"""One thing changed at a time."""

from __future__ import annotations

import math

import pytest

from fsir.privacy import accounting
from fsir.privacy.plan import first_stage
from sim_devices.paper import ablation
from sim_devices.paper.low import low_task
from tests.sim_devices.paper.places import low

CELL = low("III", 1.0, 1000, 10)


def test_two_releases_cost_as_much_as_the_joint_one():
    stage = first_stage(low_task(CELL, 1.0))
    parts = ablation.separate(stage, CELL)
    sums = 2.0 * stage.norm / parts.sums.sd
    second = math.sqrt(2.0) * stage.norm**2 / parts.diagonal.sd
    assert accounting.compose(sums, second) == pytest.approx(stage.mu)
    assert parts.sums.sd == pytest.approx(math.sqrt(2.0) * stage.sums.sd)


def test_the_default_is_the_best_of_its_parts_where_noise_rules(monkeypatch):
    both = [CELL, low("III", 1.0, 500, 10)]
    monkeypatch.setattr(ablation, "cells", lambda setting: both)
    monkeypatch.setattr(ablation, "MODELS", ("III",))
    summary = ablation.ablation(12, 1)
    assert set(summary) == set(ablation.VARIANTS)
    best = summary["default"]["mean_loss"]
    for worse in ("C = 1.5 sqrt(p)", "two releases, classical noise"):
        assert summary[worse]["mean_loss"] > best
    assert summary["C = 1.5 sqrt(p), two releases, classical, plain"]["mean_loss"] > 1.2 * best
    assert summary["the clip without noise"]["mean_loss"] < best
