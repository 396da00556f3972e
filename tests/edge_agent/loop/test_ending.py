"""What a person is told when a run ends, and what a script sees."""

from __future__ import annotations

import pytest

from edge_agent.consent.admission import Feed
from edge_agent.consent.policy import Policy
from edge_agent.loop.ending import DONE, HELD, LATE, REFUSED, all_answered, result, shortfall
from edge_agent.records import Position, Record
from tests.edge_agent.world import data, receipt, records, simulated
from tests.fsir.tasks import task


@pytest.mark.parametrize(
    ("feed", "advice"),
    [
        (Feed("csv:a"), "start again when there are more, or wait for them with --follow"),
        (Feed("iio:a", replayable=False), "is kept: start again when there are more"),
        (Feed("jsonl:-", replayable=False, stream="jsonl:-#1"), "offer all 100 in one run"),
    ],
)
def test_the_advice_fits_the_source(feed, advice):
    of = task()
    agent = simulated(of, feed=feed)
    X, y = data(of, 30)
    y[0] = "?"
    agent.learn_many(X, y)
    told = shortfall(agent, of, feed.replayable)
    assert "70 records are missing" in told
    assert "30 of 100 offered, 29 learned (not accepted: 1 unknown response)" in told
    assert told.endswith(advice)


def offered(of, feed, *values):
    """An agent that was offered these records."""
    agent = simulated(of, feed=feed)
    for k, one in enumerate(values):
        agent.learn(Record(Position(k), one))
    return agent


def test_where_nothing_could_be_used_more_of_it_is_no_advice():
    of = task()
    agent = offered(of, Feed("csv:a"), *[{"x0": 1, "X_1": 2, "x2": 3, "y": "a"}] * 30)
    told = shortfall(agent, of, True)
    assert told.endswith(
        "30 of 100 offered, 0 learned (not accepted: 30 missing feature); none could be used: "
        "there is no 'x1', a feature of the task; is 'X_1' what is meant? rename it; mend that at "
        "the source, then fsir-agent rewind --source csv:a --state memory, and start again"
    )
    assert "when there are more" not in told
    agent = offered(of, Feed("mqtt:a", replayable=False), *[{"x0": 1, "y": "a"}] * 30)
    advice = "mend that at the source, then fsir-agent forget --task test --state memory"
    assert advice in shortfall(agent, of, False)


def test_where_most_could_not_be_used_it_is_said_what_they_lack():
    of = task()
    good = [record.x for record in records(of, 5)]
    agent = offered(of, Feed("csv:a"), *good, *[{"x0": 1, "x1": "warm", "x2": 3, "y": "a"}] * 20)
    told = shortfall(agent, of, True)
    assert "of most it is said: 'x1': a text where a number should be; let that column" in told
    assert told.endswith("start again when there are more, or wait for them with --follow")


# --- what a script sees ---------------------------------------------------------------------------

DATED = task(report={"records": 100, "deadline": 2_000_000_000, "sigma_0": 1.0})


def dated(now):
    return simulated(DATED, policy=Policy(exact_count=True), clock=lambda: now[0])


def test_a_device_that_comes_too_late_is_told_at_once_and_done(caplog):
    agent = dated([2_000_000_060])
    agent.outgoing(0.0)
    (said,) = caplog.messages
    assert said == (
        "test: too late: its deadline was 2033-05-18 03:33 UTC, and this device has 0 of the at "
        "least 14 records: there will be no report of it"
    )
    assert all_answered([agent])
    assert result([agent]) == LATE
    agent.outgoing(1.0)
    assert len(caplog.messages) == 1


def test_a_deadline_that_passes_before_the_fewest_records(caplog):
    now = [1_999_999_000]
    agent = dated(now)
    agent.learn_many(*data(DATED, 5))
    agent.outgoing(0.0)
    assert not agent.late
    assert not all_answered([agent])
    now[0] = 2_000_000_001
    agent.outgoing(1.0)
    assert "this device has 5 of the at least 14 records" in caplog.text
    assert result([agent]) == LATE


def test_with_enough_records_a_deadline_is_met():
    now = [1_999_999_000]
    agent = dated(now)
    agent.learn_many(*data(DATED, 50))
    now[0] = 2_000_000_001
    agent.receive(*receipt(DATED, agent.outgoing(1.0)))
    assert all_answered([agent])
    assert result([agent]) == DONE


def test_a_held_report_ends_a_run_and_a_refused_task_comes_first():
    of = task(4, report={"records": 300})
    agent = simulated(of, seed=1)
    X, y = data(of, 300)
    agent.learn_many(X * 1e6, y)
    assert not all_answered([agent])
    agent.outgoing(1.0)
    assert all_answered([agent])
    assert result([agent]) == HELD
    greedy = simulated(task(name="greedy", privacy={"epsilon": 3.0}))
    assert result([agent, greedy]) == REFUSED


def test_a_held_report_whose_records_go_with_the_run_is_waited_for(caplog):
    """A pipe has ended, and nobody could send its report any more."""
    of = task(4, report={"records": 300})
    pipe = Feed("jsonl:-", replayable=False, stream="jsonl:-#1")
    agent = simulated(of, seed=1, feed=pipe)
    X, y = data(of, 300)
    agent.learn_many(X * 1e6, y)
    agent.outgoing(1.0)
    assert agent.held
    assert not all_answered([agent])
    assert "To mend the source and begin anew: start the agent again." in caplog.text
    assert "`fsir-agent release test --state memory` while this agent runs" in caplog.text
    agent.release()
    agent.receive(*receipt(of, agent.outgoing(2.0)))
    assert all_answered([agent])
