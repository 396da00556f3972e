"""The shipped program as a black box.
Seeded, so that a verdict is a property of the code and not of luck."""

from __future__ import annotations

import numpy as np
import pytest

import fsir.privacy.noise
from fsir.privacy import budget, plan
from fsir.wire.decode import decode
from fsir.wire.messages import Report
from sim_devices.audit import suite
from sim_devices.audit.mechanisms import Claim
from sim_devices.audit.pairs import AuditError
from sim_devices.audit.shipped import blackbox
from sim_devices.audit.shipped.agent import BROKEN, source_of, through_agent
from sim_devices.audit.shipped.canary import canary, predicted, vector

EPSILON, DELTA = suite.LOOSE


def test_the_agent_is_consistent_with_its_claim_and_the_audit_is_not_blind():
    finding = suite.agent(None, EPSILON, DELTA, 400, seed=1)
    assert finding.verdict == "consistent"
    assert finding.bound.epsilon > 0.3 * EPSILON


def test_half_of_the_noise_in_the_code_is_found(monkeypatch):
    whole = fsir.privacy.noise.normal_of
    monkeypatch.setattr(fsir.privacy.noise, "normal_of", lambda word: 0.5 * whole(word))
    assert suite.agent(None, EPSILON, DELTA, 300, seed=1).verdict == "violated"


@pytest.mark.long
def test_noise_that_two_stages_share_is_found():
    assert suite.agent("reused-noise", EPSILON, DELTA, 300, seed=1).verdict == "violated"


@pytest.mark.slow
@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_agent_with_the_systems_noise_is_found(broken):
    assert suite.agent(broken, EPSILON, DELTA, 1000, seed=None).verdict == "violated"


@pytest.mark.slow
def test_half_of_the_noise_is_found_at_the_papers_delta_too():
    assert suite.agent("half-noise", 1.0, 1000**-1.1, 1500, seed=2).verdict == "violated"
    assert suite.agent(None, 1.0, 1000**-1.1, 1500, seed=2).verdict == "consistent"


def test_retries_repeat_the_same_bytes():
    task = suite.agent_task(None, 1.0, 1e-6)
    streams = canary(task, 8)
    assert len(through_agent(task)(*streams.first)) == 1
    two = suite.agent_task("reused-noise", 1.0, 1e-6)
    messages = through_agent(two)(*streams.first)
    assert [decode(raw, Report).stage for raw in messages] == [plan.SCREENING, plan.FINAL]


@pytest.mark.parametrize("broken", [None, "reused-noise"])
def test_the_canary_reaches_what_theorem_1_allows(broken):
    """With the same clip in both stages nothing is missing but the grid."""
    claim = Claim(epsilon=1.0, delta=1e-6, n=8, p=4, slices=2, truncate=1.0, norm=2.0)
    task = (
        claim.task("gaussian")
        if broken is None
        else claim.task("gaussian", final_norm=2.0, limit=4, keep=1)
    )
    streams = canary(task, 8)
    expected = predicted(task, through_agent(task)(*streams.first), streams)
    assert np.linalg.norm(expected) == pytest.approx(budget.total_mu(task), rel=1e-3)


def test_numbers_are_read_in_standard_deviations_of_their_noise():
    task = suite.agent_task(None, 1.0, 1e-3)
    streams = canary(task, 8)
    path = through_agent(task, source_of(3))
    rows = np.stack([vector(task, path(*streams.first)) for _ in range(300)])
    assert rows.std(axis=0) == pytest.approx(np.ones(rows.shape[1]), abs=0.2)


@pytest.mark.long
def test_votes_are_as_private_as_the_sums_behind_them():
    claim = Claim(epsilon=EPSILON, delta=DELTA, n=8, p=4, slices=2, truncate=1.0, norm=2.0)
    task = claim.task(
        "gaussian",
        method="votes",
        select="majority",
        threshold=0.2,
        final_norm=2.0,
        limit=4,
        keep=1,
    )
    bound = blackbox.audit(through_agent(task, source_of(5)), task, 300)
    assert bound.epsilon <= EPSILON


def test_senseless_questions_are_refused():
    with pytest.raises(AuditError, match="choose one of half-noise"):
        suite.agent("half", 1.0, 1e-3, 200, 1)
    with pytest.raises(AuditError, match="fewer than 100"):
        suite.agent(None, 1.0, 1e-3, 10, 1)
    task = suite.agent_task(None, 1.0, 1e-3)
    with pytest.raises(AuditError, match="published nothing"):
        through_agent(task)(np.zeros((3, 4)), ["0", "1", "0"])
