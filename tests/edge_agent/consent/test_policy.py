"""The owner's policy."""

from __future__ import annotations

import math

import pytest

from edge_agent.agent import Phase
from edge_agent.consent.policy import Policy, PolicyError
from tests.edge_agent.world import active, data, reports, simulated
from tests.fsir.tasks import screened, shared, task


def test_the_default_is_cautious():
    policy = Policy()
    assert (policy.epsilon, policy.delta) == (2.0, 1e-6)
    assert (policy.unproven, policy.presence) == ((), False)
    assert policy.refusals(task(privacy={"epsilon": 2.0})) == []
    assert policy.refusals(task(privacy={"mechanism": "iid", "epsilon": 1.9})) == []


@pytest.mark.parametrize("rule", ["same", "fresh"])
def test_a_task_may_use_the_whole_cap_in_two_stages(rule):
    full = screened(records=rule)
    policy = Policy(epsilon=1.0)
    agent = simulated(full, policy=policy)
    X, y = data(full, 200)
    used = agent.learn_many(X, y)
    sent = agent.outgoing(1.0)
    agent.receive(*active(full, "x0", "x1"))
    agent.learn_many(X[used:], y[used:])
    sent += agent.outgoing(2.0)
    assert [report.stage for report in reports(sent)] == ["screening", "final"]


def test_it_reads_a_file(tmp_path):
    path = tmp_path / "agent.toml"
    path.write_text(
        'epsilon = 1\nunit_records = 2\nnever_share = ["heart*"]\nunproven = ["vgm"]\n'
        "exact_count = true\npresence = true\n"
    )
    policy = Policy.load(path)
    assert policy == Policy(
        epsilon=1.0,
        unit_records=2,
        never_share=("heart*",),
        unproven=("vgm",),
        exact_count=True,
        presence=True,
    )
    assert "protects 1" in policy.refusals(task())[0]
    assert "heart_rate" in policy.refusals(task(features={"names": ["a", "b", "heart_rate"]}))[-1]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("epsilon = -1", "above 0"),
        ("epsillon = 1", "did you mean 'epsilon'"),
        ("delta = 2", "below 1"),
        ('unproven = ["magic"]', "no such mechanism"),
        ("unit_records = 0", "whole number"),
        ("epsilon = [", "not valid TOML"),
        ('presence = "yes"', "true or false"),
    ],
)
def test_a_mistake_in_the_file_is_named(tmp_path, text, reason):
    path = tmp_path / "agent.toml"
    path.write_text(text)
    with pytest.raises(PolicyError, match=reason):
        Policy.load(path)


def test_a_missing_file_is_not_the_default():
    with pytest.raises(PolicyError, match="nowhere"):
        Policy.load("nowhere.toml")


def test_an_unproven_mechanism_only_by_name_and_entered_as_infinite():
    leaky = task(privacy={"mechanism": "vgm"})
    assert "not proven" in Policy(unproven=("none",)).refusals(leaky)[0]
    agent = simulated(leaky, policy=Policy(unproven=("vgm",)))
    agent.learn_many(*data(leaky, 100))
    assert len(reports(agent.outgoing(1.0))) == 1
    assert agent.state.ledger()[0].mu == math.inf
    later = simulated(task(name="later", privacy={"epsilon": 0.1}), state=agent.state)
    assert later.phase is Phase.WAITING, "records that leaked once have no budget left"


def test_even_by_name_it_may_not_claim_more_than_the_cap():
    leaky = task(privacy={"mechanism": "vgm", "epsilon": 3.0})
    assert "claims epsilon 3" in Policy(unproven=("vgm",)).refusals(leaky)[0]


def test_an_owner_may_ask_for_two_aggregators_or_for_none():
    local = task()
    secured = shared()
    assert Policy().refusals(local) == Policy().refusals(secured) == []
    assert Policy(aggregation="local").refusals(local) == []
    assert Policy(aggregation="secure").refusals(secured) == []
    (reason,) = Policy(aggregation="secure").refusals(local)
    assert 'aggregation = "secure"' in reason
    (reason,) = Policy(aggregation="local").refusals(secured)
    assert "'hospital' and 'university'" in reason
    assert 'aggregation = "local"' in reason


def test_what_both_aggregators_could_see_together_has_a_cap_of_its_own():
    (reason,) = Policy().refusals(shared(cohort=60))
    assert "epsilon_if_both_collude = 8" in reason
    assert "'hospital' and 'university' worked together" in reason
    assert Policy(epsilon_if_both_collude=20.0).refusals(shared(cohort=60)) == []
    (reason,) = Policy(epsilon_if_both_collude=5.0).refusals(shared(cohort=20))
    assert "epsilon 5.22 if" in reason  # rounded up, as in what `describe` says
    # Without noise there is nothing to cap: the owner has accepted that by name, or not.
    bare = shared(privacy={"mechanism": "none"})
    assert Policy(unproven=("none",)).refusals(bare) == []
    (reason,) = Policy().refusals(bare)
    assert "unproven" in reason


def test_the_words_about_aggregation_are_read_from_a_file(tmp_path):
    path = tmp_path / "agent.toml"
    path.write_text('aggregation = "secure"\nepsilon_if_both_collude = 3\n')
    policy = Policy.load(path)
    assert (policy.aggregation, policy.epsilon_if_both_collude) == ("secure", 3.0)
    for wrong in ('aggregation = "sum"', "epsilon_if_both_collude = 0"):
        path.write_text(wrong)
        with pytest.raises(PolicyError, match=wrong.partition(" ")[0]):
            Policy.load(path)
