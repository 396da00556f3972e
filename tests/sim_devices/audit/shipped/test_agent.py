"""What goes through the agent comes out once, whichever way the records come."""

from __future__ import annotations

import numpy as np
import pytest

from edge_agent.consent.policy import Policy
from fsir.privacy import plan
from sim_devices.audit.pairs import AuditError
from sim_devices.audit.shipped import cases
from sim_devices.audit.shipped.agent import started, through_agent
from sim_devices.audit.shipped.judge import judge
from sim_devices.audit.shipped.scores import reports_of


def test_retries_repeat_the_same_bytes():
    one = cases.one_stage()
    assert len(through_agent(one.task)(*one.streams.first)) == 1


@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize("make", [cases.two_stages, lambda one_by_one: cases.fresh_records()])
def test_both_stages_are_published(make, one_by_one):
    case = make(one_by_one=one_by_one)
    messages = through_agent(case.task, one_by_one=one_by_one)(*case.streams.first)
    assert [report.stage for report in reports_of(messages)] == [plan.SCREENING, plan.FINAL]


def test_an_agent_under_audit_has_the_noise_of_every_agent():
    with started(cases.one_stage().task) as agent:
        assert not agent.state.simulated


def test_an_agent_that_takes_no_part_is_a_finding(monkeypatch):
    """Its owner's cap is what the task claims: a refusal says that the task costs more."""
    monkeypatch.setattr(Policy, "over_budget", lambda *_: ["it costs too much"])
    case = cases.one_stage()
    _, faults = judge(
        through_agent(case.task), case.task, case.streams, 40, np.random.default_rng()
    )
    assert faults == ["the agent takes no part: it costs too much"]


def test_too_few_records_are_an_error():
    with pytest.raises(AuditError, match="published nothing"):
        through_agent(cases.small_task())(np.zeros((3, 4)), ["0", "1", "0"])
