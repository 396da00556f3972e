"""A device under a task with a public map: the same report however its records reach it."""

from __future__ import annotations

import numpy as np
import pytest

from edge_agent.records import Position, Record
from edge_agent.state.state import State
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import first_stage
from fsir.privacy.release import release
from fsir.wire.plausible import implausible
from tests.edge_agent.learning.exact import booked_mu, exact_mu, tapped
from tests.edge_agent.world import DEVICE, data, records, reports, simulated
from tests.fsir.tasks import mapped

TASKS = {
    "map": mapped(8, 3, privacy={"split": 1.0}),
    "centres only": mapped(8, identity=True),
    "check": mapped(8, 3, check=2.0),
    "numbers": mapped(8, 3, response={"classes": None, "cuts": [-0.5, 0.5]}),
}
every_task = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)


def stream(task, n=100):
    """Rows and responses that the task knows."""
    X, y = data(mapped(8, 3), n)
    return X, y if task.response.classes else X[:, 0].tolist()


def offered(task, X, y, start=0):
    rows = zip(X.tolist(), y, strict=True)
    return [
        Record(Position(start + i), dict(zip(task.features.names, row, strict=True)), label)
        for i, (row, label) in enumerate(rows)
    ]


@every_task
def test_one_by_one_at_once_and_across_a_restart_the_report_is_the_same(task, tmp_path):
    X, y = stream(task)
    moments = Moments(task, first_stage(task))
    moments.learn_many(X, y)
    expected = release(moments, SeededNoise(0, DEVICE).for_stage("final")).blocks

    at_once = simulated(task)
    at_once.learn_many(X, y)
    one_by_one = simulated(task)
    for record in offered(task, X, y):
        one_by_one.learn(record)
    state = State(tmp_path, DEVICE, simulated=True)
    before = simulated(task, state=state)
    for record in offered(task, X[:37], y[:37]):
        before.learn(record)
    before.checkpoint()
    state.close()
    restarted = simulated(task, state=State(tmp_path, DEVICE, simulated=True))
    restarted.learn_many(X[37:], y[37:])

    for agent in (at_once, one_by_one, restarted):
        (report,) = reports(agent.outgoing(1.0))
        assert report.n == 100
        assert tuple(len(block) for block in report.blocks) == moments.stage.sizes
        assert all(map(np.array_equal, report.blocks, expected))
        assert implausible(moments.stage, report.n, report.blocks) is None


@pytest.mark.parametrize("name", ["map", "check"])
def test_a_replaced_relabelled_or_refused_record_costs_no_more_than_is_booked(name, monkeypatch):
    task = TASKS[name]
    plain = records(task, 100)
    changes = [
        {"x0": 1e9, "x3": -1e9},
        {"y": "a"},
        {"y": "b", "x1": -1e9, "x2": 1e9},
        {"y": "c"},
        {"y": "unknown"},
        {"x5": float("nan")},
    ]
    worlds = []
    for change in [{}, *changes]:
        agent = simulated(task)
        values = {**plain[17].x, **change}
        with tapped(monkeypatch) as seen:
            for record in [*plain[:17], Record(Position(17), values), *plain[18:]]:
                agent.learn(record)
            agent.outgoing(1.0)
        worlds.append(list(seen))
        booked = booked_mu(agent.state)
    costs = [exact_mu(a, b) for a in worlds for b in worlds]
    assert max(costs) <= booked * (1 + 1e-9)
    assert max(costs) > 0.2 * booked  # and something is moved
