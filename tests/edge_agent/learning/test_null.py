"""Nothing about the content of a record tells whether, when or how often a device reports."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest

from edge_agent.records import Position, Record
from edge_agent.state.state import State
from fsir.contract import task_from_table
from fsir.privacy import accounting
from fsir.privacy.noise import SystemNoise
from fsir.wire.decode import decode
from fsir.wire.messages import Report
from tests.edge_agent.learning.exact import booked_mu, exact_mu, tapped
from tests.edge_agent.world import DEVICE, active, receipt, records, simulated
from tests.fsir.tasks import task

SEIZURE = {
    "name": "attack",
    "features": {"names": ["a"]},
    "response": {"classes": ["seizure", "-"]},
    "clip": {"truncate": 1.0, "norm": 1.0},
    "privacy": {"epsilon": 0.01},
    "report": {"records": 1},
}


def traffic(task, labels):
    """All that an agent sends, record by record, without the noisy integers.

    Nor the numbers that tell copies apart: they are random, and drawn before any record is seen.
    """
    pauses = random.Random(1)  # between retries
    agent = simulated(task, noise=SystemNoise(), rng=pauses)
    seen = []
    for k, label in enumerate(labels):
        agent.learn(Record(Position(k), {"a": 0.5, "y": label}))
        for message in agent.outgoing(float(k)):
            told = message.payload
            if "/report/" in message.topic:
                report = decode(message.payload, Report)
                told = (report.task, report.device, report.stage, report.n)
            seen.append((k, message.topic, message.retain, told))
    return seen


def test_the_label_of_one_record_does_not_show_in_the_traffic():
    """A task may ask for one record, of a class that it chooses: it gets a report in any case."""
    attack = task_from_table(SEIZURE)
    quiet = ["other"] * 50
    struck = [*quiet[:17], "seizure", *quiet[18:]]
    assert attack.counts_refused
    assert "/report/" in traffic(attack, quiet)[-1][1]
    assert traffic(attack, quiet) == traffic(attack, struck)


def test_a_task_of_version_1_goes_on_as_it_began():
    attack = task_from_table(SEIZURE | {"version": 1})
    quiet = ["other"] * 50
    assert not [entry for entry in traffic(attack, quiet) if "/report/" in entry[1]]


def played(edition_of, stream, editions, monkeypatch):
    """One device through several editions of a task, over one stream of records."""
    state = State(None, DEVICE, simulated=True)
    waiting = iter(stream)
    with tapped(monkeypatch) as seen:
        for epoch in range(1, editions + 1):
            edition = edition_of(epoch)
            agent = simulated(edition, state=state)
            sent = []
            while agent.wants_records:
                agent.learn(next(waiting))
                sent += agent.outgoing(1.0)
            agent.receive(*receipt(edition, [m for m in sent if "/report/" in m.topic]))
            agent.checkpoint(leaving=True)
            state.forget(edition.name, unpin=True)
    return state, seen


def changes(record):
    """Other contents that the same record may have had."""
    longer = {name: 9.0 for name in record.x if name != "y"}
    opposite = {name: -9.0 for name in record.x if name != "y"}
    yield replace(record, x=longer | {"y": "b"})
    yield replace(record, x=opposite | {"y": "b"})
    yield replace(record, x=record.x | {"y": "c"})
    yield replace(record, x=record.x | {"y": "unheard of"})
    yield replace(record, x=record.x | {"x0": float("nan")})
    yield replace(record, x={})
    yield replace(record, x={}, fault="unreadable")


@pytest.mark.parametrize("unit", [1, 2])
def test_eight_editions_with_one_record_changed_cost_what_is_booked(unit, monkeypatch):
    """Blocks lie at ordinals that no content can move, so that a record is in one release."""

    def edition_of(epoch):
        privacy = {"epsilon": 1.0, "unit_records": unit}
        return task(epoch=epoch, report={"records": 20}, privacy=privacy)

    stream = records(edition_of(1), 160)
    state, seen = played(edition_of, stream, 8, monkeypatch)
    assert [(row.first, row.last) for row in state.ledger()] == [
        (start, start + 19) for start in range(0, 160, 20)
    ]
    booked = booked_mu(state)
    for place in (0, 19, 75):
        first, *others = (
            played(edition_of, _at(stream, place, other), 8, monkeypatch)[1]
            for other in changes(stream[place])
        )
        worlds = [seen, first, *others]
        for one, other in itertools.combinations(worlds, 2):
            assert exact_mu(one, other) <= booked
    assert accounting.epsilon_of(booked, 1e-6) <= 1.0


def _at(stream, place, record):
    return [*stream[:place], record, *stream[place + 1 :]]


def test_both_reports_about_kept_rows_count_null_records():
    """Rows that wait for the second report have their null records among them."""
    screening = {"keep": 2, "limit": 4, "final_norm": 1.5}
    two = task(6, report={"records": 30}, screening=screening)
    stream = records(two, 30)
    stream[7] = replace(stream[7], x={})
    agent = simulated(two)
    for record in stream:
        agent.learn(record)
    (first,) = [m for m in agent.outgoing(1.0) if "/report/" in m.topic]
    assert decode(first.payload, Report).n == 30
    agent.receive(*active(two, "x1", "x2"))
    (second,) = [
        m for m in agent.outgoing(2.0) if "/report/" in m.topic and m.payload != first.payload
    ]
    assert decode(second.payload, Report).n == 30
