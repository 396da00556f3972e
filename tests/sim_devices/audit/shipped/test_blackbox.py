"""Rates of right and wrong answers bound what the bytes of an agent give away."""

from __future__ import annotations

import numpy as np
import pytest

from fsir.privacy import budget
from fsir.privacy.normal import words
from sim_devices.audit import suite
from sim_devices.audit.pairs import AuditError
from sim_devices.audit.shipped import blackbox, cases
from sim_devices.audit.shipped.agent import through_agent
from sim_devices.audit.shipped.broken import BROKEN
from sim_devices.audit.shipped.canary import orthogonal
from sim_devices.audit.shipped.scores import Side

EPSILON, DELTA = cases.LOOSE


def sides(task, runs=1, path=None):
    streams = orthogonal(task)
    publish = path or through_agent(task)
    return [
        Side.of(task, stream, [publish(*stream) for _ in range(runs)])
        for stream in (streams.first, streams.second)
    ]


@pytest.mark.long
def test_the_agent_is_consistent_with_its_claim_and_the_audit_is_not_blind():
    finding = suite.agent(EPSILON, DELTA, 1200, seed=1)
    assert finding.verdict == "consistent"
    assert finding.bound.epsilon > 0.3 * EPSILON


def test_half_of_the_noise_in_the_code_is_found(monkeypatch):
    whole = words.normals_of
    monkeypatch.setattr(words, "normals_of", lambda raw: 0.5 * whole(raw))
    assert suite.agent(EPSILON, DELTA, 100, seed=1).verdict == "violated"


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_agent_is_found(broken):
    assert suite.broken(broken, EPSILON, DELTA, 100, seed=1).verdict == "violated"


@pytest.mark.slow
@pytest.mark.timeout(1500)  # minutes of work, on a machine that may be busy
@pytest.mark.parametrize("broken", BROKEN)
def test_the_rates_alone_refute_the_claim_of_a_broken_agent(broken):
    finding = suite.broken(broken, EPSILON, DELTA, 3000, seed=1)
    assert finding.bound.epsilon > EPSILON


@pytest.mark.slow
def test_half_of_the_noise_is_found_at_the_papers_delta_too():
    assert suite.broken("half-noise", 1.0, 1000**-1.1, 400, seed=2).verdict == "violated"
    assert suite.agent(1.0, 1000**-1.1, 400, seed=2).verdict == "consistent"


@pytest.mark.parametrize("screening", [None, {"final_norm": 2.0, "limit": 4, "keep": 1}])
def test_the_canary_reaches_what_theorem_1_allows(screening):
    """With the same clip in both stages nothing is missing but the grid."""
    changes = {} if screening is None else {"screening": screening}
    task = cases.small_task(budget=(1.0, 1e-6), **changes)
    expected = blackbox.predicted(*sides(task))
    assert np.linalg.norm(expected) == pytest.approx(budget.total_mu(task), rel=1e-3)


@pytest.mark.long
def test_votes_are_as_private_as_the_sums_behind_them_and_raw_ones_are_not():
    """At this threshold one record decides a raw vote: the bound must be able to see it."""
    task = cases.votes().task
    assert blackbox.bound(task, *sides(task, 300)).epsilon <= EPSILON
    raw = BROKEN["raw-votes"](task)
    assert blackbox.bound(task, *sides(task, 300, raw)).epsilon > EPSILON


def test_senseless_questions_are_refused():
    with pytest.raises(AuditError, match="choose one of no-noise"):
        suite.broken("half", 1.0, 1e-3, 200, 1)
    with pytest.raises(AuditError, match="fewer than 40"):
        suite.broken("no-noise", 1.0, 1e-3, 10, 1)
    with pytest.raises(AuditError, match="asks for no votes"):
        BROKEN["raw-votes"](cases.small_task())
