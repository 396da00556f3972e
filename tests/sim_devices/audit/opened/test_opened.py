"""What two aggregators open: the promises hold exactly, and every known mistake is found."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fsir.privacy import accounting
from fsir.privacy.claims import total_cost
from fsir.privacy.noise import SystemNoise
from fsir.privacy.release import release
from fsir.secure import opening
from sim_devices.audit.opened import shipped, views
from sim_devices.audit.opened.integers import bound, rounded

DELTA = 1e-6


@pytest.mark.parametrize("cohort", [2, 5, 20, 60])
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_one_honest_aggregator_keeps_the_promise_and_wastes_little(epsilon, cohort):
    finding = views.asked("one-honest", epsilon, DELTA, cohort)
    assert finding.verdict == "consistent"
    # The device's own noise is there as well, and rounding hides a little more.
    mu = total_cost(views.shared_task(1, epsilon, DELTA, cohort)) / math.sqrt(1 + 1 / cohort)
    most = accounting.epsilon_of(mu, DELTA)
    assert 0.97 * most < finding.bound.epsilon <= most * (1 + 1e-9)


@pytest.mark.parametrize("cohort", [2, 20, 60])
def test_both_together_see_no_more_than_is_said(cohort):
    finding = views.asked("both-collude", 1.0, DELTA, cohort)
    assert finding.verdict == "consistent"
    assert finding.bound.epsilon > 0.97 * finding.epsilon


@pytest.mark.parametrize("name", views.MUST_FAIL)
@pytest.mark.parametrize("delta", [1e-6, 1e-3])
def test_every_known_mistake_is_found(name, delta):
    finding = views.asked(name, 1.0, delta)
    assert finding.verdict == "violated"
    assert finding.bound.epsilon > 1.3


def test_the_exact_bound_is_that_of_a_gaussian_where_steps_are_fine():
    fine = bound(rounded(0.0, 500.0), rounded(237.0, 500.0), 1.0, DELTA)
    assert fine.epsilon == pytest.approx(accounting.epsilon_of(0.474, DELTA), rel=1e-3)
    assert fine.delta == pytest.approx(accounting.delta_of(0.474, 1.0), rel=1e-3)
    same = bound(rounded(0.2, 3.0), rounded(0.2, 3.0), 1.0, DELTA)
    assert (same.epsilon, same.delta) == (0.0, 0.0)
    assert bound(rounded(0.0, 0.0), rounded(1.0, 0.0), 1.0, DELTA).epsilon == math.inf


def test_the_shipped_code_opens_the_law_of_the_proof():
    finding = shipped.of_opening(60, np.random.default_rng(5))
    assert not finding.faults
    assert finding.verdict == "consistent"


class Halved(SystemNoise):
    def normals(self, count):
        return 0.5 * super().normals(count)


def silent(stage, noise):
    return np.zeros(sum(stage.sizes), np.int64)


def halved(stage, noise):
    drawn = [Halved().perturb(np.zeros(b.size), b.added / b.unit, b.step) for b in stage.blocks]
    return np.concatenate(drawn)


def repeated(stage, noise):
    return np.full(sum(stage.sizes), noise.perturb(np.zeros(1), 8.0, 1)[0])


@pytest.mark.parametrize("broken", [silent, halved, repeated])
def test_other_noise_of_an_aggregator_is_seen(monkeypatch, broken):
    monkeypatch.setattr(opening, "aggregator_noise", broken)
    finding = shipped.of_opening(60, np.random.default_rng(5))
    assert finding.verdict == "violated"
    assert all("by chance" in fault for fault in finding.faults)


def test_other_noise_of_a_device_is_seen(monkeypatch):
    monkeypatch.setattr(shipped, "release", _released)
    finding = shipped.of_opening(60, np.random.default_rng(5))
    assert any("a report that both open" in fault for fault in finding.faults)


def _released(moments, noise):
    return release(moments, noise if not isinstance(noise, SystemNoise) else Halved())
