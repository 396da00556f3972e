"""What `fsir-sim tables --trust secure` says of its cells, and that it runs."""

from __future__ import annotations

import csv
import json

import pytest

from sim_devices.cli import main
from sim_devices.paper import shared_summary
from sim_devices.paper.means import Mean
from sim_devices.paper.tables import LOCAL, SECURE, Unit, units, wanted_cells

LOSSES = {"none": 0.01, "gaussian": 9.0, "refined": 9.0, "secure": 0.02, "secure-funnel": 0.03}


def mean(name: str, setting: str) -> Mean:
    recall = None if setting == "low" else 0.5
    return Mean(
        loss=LOSSES[name], standard_error=0.0, replications=7, recall=recall, size=recall and 4.0
    )


@pytest.fixture
def known():
    names = {"low": ("gaussian", "secure", "none"), "high": (*tuple(LOSSES)[2:], "none")}
    return {
        (cell, name): mean(name, setting)
        for setting in names
        for cell in wanted_cells(setting, SECURE)
        for name in names[setting]
    }


def test_the_headline_counts_wins_by_clients_and_the_ratio_to_the_floor(known):
    numbers = shared_summary.headline(known)
    assert (numbers["low_cells"], numbers["high_cells"]) == (120, 90)
    assert numbers["low_secure_median_ratio_to_floor"] == 2.0
    assert numbers["low_gaussian_beats_paper_vgm"] == 0
    assert numbers["high_K10_secure-funnel_beats_paper_vgm"] == 30
    assert numbers["high_K100_secure_recall"] == 0.5
    assert numbers["high_K10_chosen_beats_paper_vgm"] == 30
    assert numbers["high_K10_chosen_median_ratio_to_floor"] == 3.0  # four reports in most cells


def test_the_tables_show_each_cell_beside_local_noise_and_the_floor(known):
    text = shared_summary.table_markdown(known, shared_summary.headline(known), "fsir-sim tables")
    assert text.count("###") == 4
    assert "| III | 500 | 0.205 / 9.000 / **0.020** / **0.030** / 0.010 |" in text
    rows = list(csv.DictReader(shared_summary.table_csv(known).splitlines()))
    assert len(rows) == 210
    assert {row["replications"] for row in rows} == {"7"}
    assert {row["secure-funnel"] for row in rows if row["setting"] == "high"} == {"0.0300"}


def test_results_of_local_noise_are_not_taken_for_others():
    one = {"low": 1, "high": 0}
    assert not set(units(one, LOCAL)) & set(units(one, SECURE))
    assert Unit(**{"setting": "low", "model": "I", "p": 10, "replication": 0}) in units(one, LOCAL)


def test_the_command_writes_its_tables(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sim_devices.paper.tables.MODELS", ("V",))
    monkeypatch.setattr(
        "sim_devices.paper.shared_summary.wanted_cells",
        lambda setting, trust: [c for c in wanted_cells(setting, trust) if c.model == "V"],
    )
    options = ["--trust", "secure", "--low", "1", "--high", "0", "--workers", "1", "--json"]
    assert main(["tables", *options, "--out", str(tmp_path)]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["low_cells"] == 24
    assert (
        numbers["low_secure_median_ratio_to_floor"] < numbers["low_gaussian_median_ratio_to_floor"]
    )
    assert "--trust secure --low 1 --high 0 --seed 1" in (tmp_path / "tables.md").read_text()
