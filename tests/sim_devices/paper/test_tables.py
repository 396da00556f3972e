"""All cells: package data, resumption, summary."""

from __future__ import annotations

import csv
import json

import pytest

from sim_devices.paper import summary, tables
from sim_devices.paper.cells import ExperimentError, cells, printed
from sim_devices.paper.means import means
from sim_devices.paper.tables import Unit, Value
from tests.sim_devices.paper.places import high, low


def test_the_paper_has_560_numbers_in_280_cells():
    assert len(printed()) == 560
    assert (len(cells("low")), len(cells("high"))) == (160, 120)
    assert printed()[low("IV", 1.0, 1000, 10), "vgm"].loss == 1.241
    assert printed()[high("III", 2.0, 1000, 50), "iid"].loss == 0.393


def test_the_units_cover_every_cell_once():
    units = tables.units({"low": 1, "high": 1})
    assert len(units) == len(set(units)) == 5 + 15
    assert {(unit.setting, unit.model, unit.p) for unit in units} == {
        (cell.setting, cell.model, cell.p) for setting in ("low", "high") for cell in cells(setting)
    }


@pytest.fixture
def counted(monkeypatch):
    """Units that take no time; `calls` says which were computed."""
    calls: list[Unit] = []

    def fake(unit: Unit, seed: int) -> list[Value]:
        calls.append(unit)
        wanted = [
            cell for cell in cells(unit.setting) if cell.model == unit.model and cell.p == unit.p
        ]
        names = ["gaussian", "iid", "vgm", "none"]
        high = unit.setting == "high"
        return [
            Value(
                epsilon=cell.epsilon,
                n=cell.n,
                clients=cell.clients,
                mechanism=name,
                loss=0.01 * (1 + unit.replication),
                recall=0.5 if high else None,
                size=3 if high else None,
            )
            for cell in wanted
            for name in [*names, *(["funnel", "votes"] if high else [])]
        ]

    monkeypatch.setattr(tables, "run_unit", fake)
    return calls


def run(path, low, seed=1):
    return tables.run(
        tables.units({"low": low, "high": 1}), path, seed, 1, lambda done, total: None
    )


def test_a_stopped_run_goes_on_and_a_larger_one_adds(tmp_path, counted):
    path = tmp_path / "out" / "results.jsonl"
    first = run(path, 2)
    assert len(counted) == len(first) == 2 * 5 + 15
    lines = path.read_text().splitlines(keepends=True)
    # The last unit is lost, the one before is cut short.
    path.write_text("".join(lines[:-2]) + lines[-2][:40])
    counted.clear()
    assert run(path, 2) == first
    assert len(counted) == 2
    counted.clear()
    assert len(run(path, 3)) == 3 * 5 + 15
    assert len(counted) == 5


def test_results_of_another_seed_or_of_another_kind_are_refused(tmp_path, counted):
    path = tmp_path / "results.jsonl"
    run(path, 1)
    with pytest.raises(ExperimentError, match="seed 1, not 2"):
        run(path, 1, seed=2)
    path.write_text('{"hello": 1}\n')
    with pytest.raises(ExperimentError, match="line 1"):
        run(path, 1)


def test_the_summary_counts_wins_and_averages(tmp_path, counted):
    known = means(run(tmp_path / "results.jsonl", 3))
    mean = known[low("I", 1.0, 500, 1), "gaussian"]
    assert (mean.loss, mean.replications) == (pytest.approx(0.02), 3)
    assert mean.standard_error == pytest.approx(0.01 / 3**0.5)
    numbers = summary.headline(known)
    assert numbers["low_gaussian_beats_paper_vgm"] == 160
    assert numbers["low_median_ratio_to_floor"] == 1.0
    assert numbers["high_K10_cells"] == 30
    assert numbers["high_K10_votes_recall"] == 0.5
    rows = list(csv.DictReader(summary.table_csv(known).splitlines()))
    assert len(rows) == 280
    assert json.dumps(numbers)
    text = summary.table_markdown(known, numbers, "fsir-sim tables --low 3")
    assert "fsir-sim tables --low 3" in text
    assert text.count("###") == 4
    assert "1.241 / 0.020 / **0.020** / 0.020" in text
