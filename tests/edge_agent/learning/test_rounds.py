"""Which round comes next and when, and a device that goes through them."""

from __future__ import annotations

import itertools
import math

import pytest

from edge_agent.agent import Feed, Phase
from edge_agent.consent.policy import Policy
from edge_agent.errors import StateError, StorageError
from edge_agent.learning.report import ledger_row
from edge_agent.learning.rounds import Turn, next_turn
from edge_agent.state.state import State
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SystemNoise
from fsir.privacy.plan import first_stage
from fsir.wire.messages import report_id
from tests.edge_agent.learning.rounds import (
    PATIENT,
    answered,
    are_made_of,
    drawn_keys,
    learn_block,
    several,
)
from tests.edge_agent.world import DEVICE, active, receipt, reports, simulated

HOUR_SECONDS = 3600.0


def made(of, round, at=0.0):
    """A ledger that has this round of a task, made at this time."""
    moments = Moments(of, first_stage(of))
    row = ledger_row(of, moments, source="", interval=(0, 19), made=at, round=round)
    return {row.stage: row}


# --- turns ----------------------------------------------------------------------------------------


def test_one_round_follows_the_other():
    of = several(3)
    assert next_turn(of, {}, now=7.0) == Turn(1, -math.inf)
    assert next_turn(of, made(of, 2), now=7.0) == Turn(3, -math.inf)
    assert next_turn(of, made(of, 3), now=7.0) is None


def test_a_round_waits_until_so_much_time_has_passed_since_the_last():
    of = several(3, report={"every": HOUR_SECONDS})
    assert next_turn(of, {}, now=0.0) == Turn(1, -math.inf)
    assert next_turn(of, made(of, 1, at=1000.0), now=1001.0) == Turn(2, 1000.0 + HOUR_SECONDS)


@pytest.mark.parametrize(
    ("now", "last", "expected"),
    [
        (0.0, 0, Turn(1, 5000.0)),
        (5000.0, 0, Turn(1, 5000.0)),
        (5000.0 + 2.5 * HOUR_SECONDS, 0, Turn(3, 5000.0 + 2 * HOUR_SECONDS)),
        (5000.0 + 2.5 * HOUR_SECONDS, 1, Turn(3, 5000.0 + 2 * HOUR_SECONDS)),
        (5000.0 + 2.5 * HOUR_SECONDS, 3, Turn(4, 5000.0 + 3 * HOUR_SECONDS)),
        (0.0, 3, Turn(4, 5000.0 + 3 * HOUR_SECONDS)),
        (5000.0 + 4 * HOUR_SECONDS, 1, None),
        (5000.0, 4, None),
    ],
)
def test_each_round_has_its_stretch_of_time(now, last, expected):
    of = several(4, report={"every": HOUR_SECONDS, "start": 5000})
    assert next_turn(of, made(of, last) if last else {}, now) == expected


# --- a device -------------------------------------------------------------------------------------


def test_a_device_learns_on_and_reports_again_after_the_receipt():
    of = several(3)
    agent = simulated(of, policy=PATIENT, noise=SystemNoise())
    with drawn_keys() as keys:
        assert learn_block(agent) == 20
        (first,) = agent.outgoing(1.0)
        assert learn_block(agent) == 20  # the next block at once, and no more
        assert agent.phase is Phase.REPORTED
        assert not [m for m in agent.outgoing(2.0) if m.payload != first.payload]
        agent.receive(*receipt(of, [first]))
        (second,) = answered(agent, 3.0)
        learn_block(agent)
        (third,) = answered(agent, 4.0)
    assert agent.phase is Phase.SERVING
    assert not agent.wants_records
    rows = agent.state.ledger()
    assert [(row.round, row.first, row.last) for row in rows] == [
        (1, 0, 19),
        (2, 20, 39),
        (3, 40, 59),
    ]
    assert {(row.mu, row.numbers) for row in rows} == {
        (first_stage(of).mu, first_stage(of).numbers)
    }
    for row, message in zip(rows, (first, second, third), strict=True):
        assert row.report == report_id(message.payload)
    made_of = {
        row.round: (row, m.payload) for row, m in zip(rows, (first, second, third), strict=True)
    }
    assert are_made_of(of, made_of, keys)
    assert not agent.state.keys.of(of.digest)


def test_only_time_is_missing():
    now = [0.0]
    of = several(3, report={"every": HOUR_SECONDS})
    agent = simulated(of, policy=PATIENT, clock=lambda: now[0])
    learn_block(agent)
    answered(agent, 1.0)
    learn_block(agent)
    assert agent.outgoing(2.0) == []
    assert agent.phase is Phase.RESTING
    assert agent.next_due(2.0) == pytest.approx(2.0 + HOUR_SECONDS)
    now[0] = HOUR_SECONDS
    assert [report.round for report in reports(agent.outgoing(3.0))] == [2]


def test_rounds_whose_time_has_passed_are_skipped_and_then_it_is_over():
    now = [5000.0]
    of = several(4, report={"every": HOUR_SECONDS, "start": 5000})
    agent = simulated(of, policy=PATIENT, clock=lambda: now[0])
    learn_block(agent)
    answered(agent, 1.0)
    now[0] += 2.5 * HOUR_SECONDS
    learn_block(agent)
    assert [report.round for report in reports(answered(agent, 2.0))] == [3]
    now[0] += 2 * HOUR_SECONDS
    assert not agent.wants_records
    assert agent.outgoing(3.0) == []
    assert agent.phase is Phase.SERVING
    late = simulated(of, policy=PATIENT, clock=lambda: now[0])
    assert not late.wants_records
    assert "the last of its 4 rounds ended" in late.late


@pytest.mark.parametrize("rule", ["same", "fresh"])
def test_screening_happens_once_and_rounds_follow(rule):
    screening = {"keep": 2, "limit": 4, "final_norm": 1.5, "records": rule}
    of = several(3, 100, 6, screening=screening)
    agent = simulated(of, policy=PATIENT)
    learn_block(agent)
    answered(agent, 1.0)
    assert agent.phase is Phase.SCREENED
    agent.receive(*active(of, "x1", "x4"))
    for step in range(4):
        learn_block(agent)
        answered(agent, 100.0 * step)
        answered(agent, 100.0 * step + 50.0)
    shift = 0 if rule == "same" else 100
    assert [(row.stage, row.round, row.first) for row in agent.state.ledger()] == [
        ("screening", 1, 0),
        ("final", 1, shift),
        ("final", 2, shift + 100),
        ("final", 3, shift + 200),
    ]
    assert agent.phase is Phase.SERVING
    assert agent.reason == ""


def test_the_block_of_the_next_round_survives_a_restart():
    of = several(3)
    agent = simulated(of, policy=PATIENT)
    learn_block(agent)
    answered(agent, 1.0)
    again = simulated(of, state=agent.state, policy=PATIENT)
    assert again.position == agent.position
    learn_block(again)
    again.checkpoint()
    third = simulated(of, state=agent.state, policy=PATIENT)
    assert third.n == 20
    assert [report.round for report in reports(third.outgoing(2.0))] == [2]


def test_another_stream_may_bring_the_same_records_and_costs_the_double():
    """One record in two rounds moves correlated noise by twice as much: the cap has no room."""
    of = several(3)
    state = State(None, DEVICE, simulated=True)
    for run in (1, 2):
        pipe = Feed("jsonl:-", replayable=False, stream=f"jsonl:-#{run}")
        agent = simulated(of, state=state, feed=pipe, policy=PATIENT._replace(epsilon=1.2))
        learn_block(agent)
        answered(agent, 1.0)
        learn_block(agent)
        agent.checkpoint()
    assert "it would bring the total to epsilon 2" in agent.reason
    assert len(state.ledger()) == 1


def test_another_source_is_not_taken_in_the_middle():
    of = several(3)
    agent = simulated(of, feed=Feed("csv:a"), policy=PATIENT)
    learn_block(agent)
    answered(agent, 1.0)
    with pytest.raises(StateError, match="go on with it"):
        simulated(of, state=agent.state, feed=Feed("csv:b"), policy=PATIENT)


def test_units_across_borders_leave_room_for_every_round():
    """Of a cap that is just enough for the task nothing is missing at any round."""
    for noise, unit in itertools.product(("correlated", "independent"), (1, 3)):
        privacy = {"epsilon": 1.0, "noise": noise, "unit_records": unit}
        of = several(5, privacy=privacy)
        agent = simulated(of, policy=PATIENT._replace(epsilon=1.0, unit_records=unit))
        for step in range(5):
            learn_block(agent)
            answered(agent, float(step))
        assert agent.phase is Phase.SERVING, agent.reason
        assert len(agent.state.ledger()) == 5


def test_every_round_may_be_held_and_is_judged_once():
    of = several(3, 400)
    agent = simulated(of, policy=Policy(rounds=3))
    for step in range(3):
        learn_block(agent)
        answered(agent, float(step))
        if agent.held:
            agent.release()
            answered(agent, step + 0.5)
    judged = [row for row in agent.state.ledger() if not row.is_report]
    finals = [row for row in agent.state.ledger() if row.is_report]
    assert [row.round for row in judged] == [1, 2, 3]
    assert [row.round for row in finals] == [1, 2, 3]
    assert [(row.first, row.last) for row in judged] == [(row.first, row.last) for row in finals]


def test_a_round_about_nothing_but_refused_records_is_held_and_released():
    of = several(2, 400)
    agent = simulated(of, policy=Policy(rounds=2))
    learn_block(agent)
    answered(agent, 1.0)
    X = [[float("nan")] * 3] * 400
    agent.learn_many(X, ["a"] * 400)
    assert answered(agent, 2.0) == []
    assert agent.phase is Phase.HELD
    again = simulated(of, state=agent.state, policy=Policy(rounds=2))
    assert again.phase is Phase.HELD
    again.release()
    assert [report.round for report in reports(answered(again, 3.0))] == [2]
    assert again.phase is Phase.SERVING


def test_a_round_that_is_held_is_given_up_without_reading_the_file_again(caplog):
    """What was reported of a file cannot be read again: the remedy must not say so."""
    of = several(2, 400)
    agent = simulated(of, feed=Feed("csv:/srv/walk.csv"), policy=Policy(rounds=2))
    learn_block(agent)
    answered(agent, 1.0)
    agent.learn_many([[float("nan")] * 3] * 400, ["a"] * 400)
    assert answered(agent, 2.0) == []
    assert "fsir-agent forget --task test" in caplog.text
    assert "rewind" not in caplog.text
    agent.state.forget("test")
    again = simulated(
        of, state=agent.state, feed=Feed("csv:/srv/walk.csv"), policy=Policy(rounds=2)
    )
    assert (again.phase, again.n) == (Phase.LEARNING, 0)
    learn_block(again)
    answered(again, 3.0)
    (row,) = [row for row in again.state.ledger() if row.is_report and row.round == 2]
    assert (row.first, row.last) == (800, 1199)


def test_a_round_that_the_disk_denied_is_sent_before_the_next_one_is_made(monkeypatch):
    of = several(3)
    agent = simulated(of, policy=PATIENT)
    learn_block(agent)
    answered(agent, 1.0)
    learn_block(agent)
    real = agent.state.record_report

    def treacherous(*args, **options):
        real(*args, **options)
        raise StorageError("the disk went away after the commit")

    monkeypatch.setattr(agent.state, "record_report", treacherous)
    assert agent.outgoing(2.0) == []
    monkeypatch.setattr(agent.state, "record_report", real)
    agent.checkpoint(leaving=True)
    learn_block(agent)
    assert agent.next_due(2.0) is not None
    assert [report.round for report in reports(agent.outgoing(100.0))] == [2]
    assert [(row.round, row.first) for row in agent.state.ledger()] == [(1, 0), (2, 20)]
