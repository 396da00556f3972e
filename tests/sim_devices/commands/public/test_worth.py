"""The command writes every cell, and says loudly what it leaves out."""

from __future__ import annotations

import csv
import json

import pytest

from sim_devices.cli import main

TINY = ["worth", "--splits", "2", "--epsilon", "1"]


def test_a_tiny_run(tmp_path, capsys):
    assert main([*TINY, "--sets", "wine", "--json", "--out", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)
    (cell,) = found["cells"]
    assert found["left_out"] == {}
    assert set(found["expected"]) == {"wine", "all"}
    text = (tmp_path / "worth.md").read_text()
    assert "fsir-sim worth --sets wine --epsilon 1 --splits 2 --seed 1" in text
    with (tmp_path / "worth.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert list(row) == list(cell)
    assert float(row["federation"]) == cell["federation"]


def test_a_set_that_is_missing_is_left_out_loudly(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("FSIR_DATA", str(tmp_path / "nowhere"))
    assert main([*TINY, "--sets", "har,wine", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "har IS LEFT OUT" in said.err
    assert "wine at epsilon 1" in said.out
    assert "- har: **left out**" in (tmp_path / "worth.md").read_text()
    assert main([*TINY, "--sets", "har", "--out", str(tmp_path)]) == 2


@pytest.mark.parametrize("wrong", [["--sets", "mnist"], ["--epsilon", "0"], ["--epsilon", "one"]])
def test_mistakes_are_refused(wrong, capsys):
    with pytest.raises(SystemExit):
        main(["worth", *wrong])
    assert wrong[1] in capsys.readouterr().err
