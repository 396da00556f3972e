"""A report without its row in the ledger is found, and so is a row that says something else."""

from __future__ import annotations

import pytest

from edge_agent.agent import Agent
from edge_agent.state.database import Storage
from edge_agent.state.state import State
from sim_devices.audit.shipped import cases
from sim_devices.audit.shipped.books import wrong_books

CASES = {case.name: case for case in cases.all_cases() if case.task.p < 50}


@pytest.mark.parametrize("name", CASES)
def test_the_books_of_the_shipped_agent_are_right(name):
    case = CASES[name]
    assert wrong_books(case.task, case.streams.first) == []


def test_a_row_that_is_not_written_is_missed(monkeypatch):
    whole = State.record_report

    def forgetful(self, row, out, progress, **more):
        whole(self, row, out, progress, **more)
        self._db.remove("ledger")

    monkeypatch.setattr(State, "record_report", forgetful)
    case = cases.one_stage()
    told = wrong_books(case.task, case.streams.first)
    assert "the final report is handed out before it is in the ledger" in told


def test_a_row_that_is_written_after_the_message_is_handed_out_is_missed(monkeypatch):
    late = []
    insert = Storage.insert
    outgoing = Agent.outgoing

    def later(self, table, row):
        if table == "ledger":
            late.append((self, row))
        else:
            insert(self, table, row)

    def catching_up(self, now):
        while late:
            database, row = late.pop()
            insert(database, "ledger", row)
        return outgoing(self, now)

    monkeypatch.setattr(Storage, "insert", later)
    monkeypatch.setattr(Agent, "outgoing", catching_up)
    case = cases.one_stage()
    told = wrong_books(case.task, case.streams.first)
    assert told == ["the final report is handed out before it is in the ledger"]


@pytest.mark.parametrize(
    ("change", "said"),
    [({"mu": 0.1}, "mu = 0.1 instead of"), ({"first": 3}, "records 3 to"), ({"n": 1}, "n = 1")],
)
def test_a_row_that_says_something_else_is_seen(monkeypatch, change, said):
    whole = State.record_report

    def lying(self, row, out, progress, **more):
        whole(self, row._replace(**change), out, progress, **more)

    monkeypatch.setattr(State, "record_report", lying)
    case = cases.one_stage()
    told = wrong_books(case.task, case.streams.first)
    assert len(told) == 1
    assert said in told[0]
