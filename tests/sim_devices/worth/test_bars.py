"""What the federation is worth on real people: each of them once as the volunteer."""

from __future__ import annotations

import pytest

from sim_devices.worth import grid, sets
from sim_devices.worth.cell import Budget, Cell

pytestmark = [pytest.mark.data, pytest.mark.slow, pytest.mark.timeout(1800)]


def cells(name, *budgets, shared=False):
    chosen = sets.load(name, seed=1, splits=0, every=1)
    runs = [
        grid.runs_of(chosen.scenario(k), budgets, 1000 + k, shared=shared) for k in chosen.chosen
    ]
    found = [Cell(name, budget, tuple(run[budget] for run in runs)) for budget in budgets]
    for cell in found:
        print(cell.row())
    return found


def test_six_activities_of_har(data_dir, monkeypatch):
    monkeypatch.setenv("FSIR_DATA", str(data_dir))
    one, two, more = cells("har", Budget(1.0), Budget(1.0, 2), Budget(2.0))
    assert one.means["federation"] >= 0.86
    assert two.means["federation"] >= 0.82
    assert more.means["federation"] >= 0.885


def test_six_activities_of_har_with_two_aggregators(data_dir, monkeypatch):
    monkeypatch.setenv("FSIR_DATA", str(data_dir))
    one, two = cells("har", Budget(1.0), Budget(1.0, 2), shared=True)
    assert one.means["federation"] >= 0.90
    assert two.means["federation"] >= 0.87


def test_six_activities_from_the_raw_signals_of_hapt(data_dir, monkeypatch):
    monkeypatch.setenv("FSIR_DATA", str(data_dir))
    (cell,) = cells("hapt", Budget(1.0, 2))
    assert cell.difference >= 0.03
