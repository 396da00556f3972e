"""The audit of the decision to hold a report: it passes what is shipped, and sees what is not."""

from __future__ import annotations

import pytest

from edge_agent.learning import holding
from edge_agent.watch.threshold import Threshold
from sim_devices.audit.shipped.holding import of_hold

RUNS = 150


def test_what_is_shipped_is_consistent():
    found = of_hold(RUNS)
    assert not found.faults
    assert found.verdict == "consistent"
    assert found.pair == "held or not"
    assert 0.4 < found.epsilon < 0.5, "what is booked, at the audit's delta"


def without_noise(self, margin, noise):
    return margin < 1


def a_sixteenth_of_it(self, margin, noise):
    self.sd /= 16.0
    return decide(self, margin, noise)


decide = Threshold.holds


@pytest.mark.parametrize("broken", [without_noise, a_sixteenth_of_it])
def test_too_little_noise_is_seen(monkeypatch, broken):
    monkeypatch.setattr(Threshold, "holds", broken)
    found = of_hold(RUNS)
    assert found.verdict == "violated"
    assert any("reports are held, not" in fault for fault in found.faults)


def test_a_decision_that_is_not_booked_is_seen(monkeypatch):
    book = holding.Holding.judge
    monkeypatch.setattr(holding.Holding, "judge", lambda self, *a: book(self, *a) and None)
    found = of_hold(20)
    assert any("decisions booked: 0" in fault for fault in found.faults)


def test_a_report_that_leaves_all_the_same_is_seen(monkeypatch):
    monkeypatch.setattr(Threshold, "holds", lambda *_: False)
    assert of_hold(RUNS).violated
