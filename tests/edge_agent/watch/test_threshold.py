"""The decision to hold has the noise that is booked, and is not made where that hides all."""

from __future__ import annotations

from statistics import NormalDist

import pytest

from edge_agent.watch.threshold import SHARE, Threshold
from fsir.privacy.accounting import mu_of
from fsir.privacy.noise import SeededNoise
from tests.fsir.tasks import task

RUNS = 4000
NORMAL = NormalDist()


def rate(threshold, margin, runs=RUNS):
    """How often a report is held, so many witnesses from the threshold."""
    held = (threshold.holds(margin, SeededNoise(seed, "hold")) for seed in range(runs))
    return sum(held) / runs


@pytest.mark.parametrize(
    "privacy",
    [{"epsilon": 1.0}, {"epsilon": 0.3, "unit_records": 3}, {"epsilon": 20.0, "delta": 0.01}],
)
def test_it_is_the_rounded_gaussian_of_its_cost(privacy):
    of = task(privacy=privacy)
    threshold = Threshold(of)
    unit = of.privacy.unit_records
    assert threshold.mu == SHARE * mu_of(of.privacy.epsilon, of.privacy.delta)
    assert threshold.sd == unit / threshold.mu
    for sds in (-1.5, 0.0, 1.0):
        margin = round(sds * threshold.sd)
        # Rounding takes up to a step, which is an eighth of the noise or one record.
        low = NORMAL.cdf(-(margin + max(1.0, threshold.sd / 8)) / threshold.sd)
        high = NORMAL.cdf(-margin / threshold.sd)
        slack = 4.0 * (0.25 / RUNS) ** 0.5
        assert low - slack <= rate(threshold, margin) <= high + slack


def test_a_unit_moves_the_decision_by_no_more_than_is_booked():
    of = task(privacy={"epsilon": 4.0, "delta": 0.05, "unit_records": 2})
    threshold = Threshold(of)
    p = rate(threshold, 0, 20_000)
    q = rate(threshold, of.privacy.unit_records, 20_000)
    assert NORMAL.inv_cdf(p) - NORMAL.inv_cdf(q) == pytest.approx(threshold.mu, abs=0.06)


def test_a_report_is_judged_only_if_the_noise_leaves_something_to_see():
    of = task()
    threshold = Threshold(of)
    assert not threshold.judges(101)
    assert threshold.judges(102)
    assert not Threshold(task(privacy={"unit_records": 2})).judges(202)


def test_what_must_be_witnessed_is_public():
    threshold = Threshold(task())
    assert threshold.fewest(300, 0.01) == threshold.fewest(1000, 0.01) == 34
    assert threshold.fewest(10_000, 0.01) == 100
    assert threshold.enough(300, 0.01) == 34 + 68
