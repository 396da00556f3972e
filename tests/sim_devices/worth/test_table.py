"""The table shows every cell, and a cell that is worse than what is public as such."""

from __future__ import annotations

import csv
import io

import pytest

from sim_devices.worth.table import LOST, comma_separated, line, markdown, summary, verdict
from tests.sim_devices.worth.made_up import BAD, EVEN, GOOD

CELLS = [GOOD, BAD, EVEN]


def rows_of(text):
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[part.strip() for part in line.strip("|").split("|")] for line in lines]


def test_every_cell_has_its_row():
    head, _, *rows = rows_of(markdown(CELLS))
    found = [dict(zip(head, row, strict=True)) for row in rows if len(row) == len(head)]
    assert [(row["set"], row["epsilon"], row["unit"]) for row in found] == [
        ("har", "1", "1"),
        ("wine", "0.5", "1"),
        ("hapt", "1", "2"),
    ]
    assert [row["not worse?"] for row in found] == ["yes", LOST, "yes"]
    assert found[1]["difference"] == "-0.0150 ± .0050"
    assert found[1]["best public"] == ".9000"
    assert found[2]["difference"] == "-0.0050"


def test_a_cell_that_lost_is_named_below_the_table_and_on_the_terminal():
    assert verdict(CELLS).startswith("2 of 3 cells")
    assert "Worse: wine at epsilon 0.5 (-0.0150)." in markdown(CELLS)
    assert "Worse" not in verdict([GOOD, EVEN])
    assert line(BAD).endswith("-0.0150  WORSE")
    assert "WORSE" not in line(EVEN)


def test_expectation_and_truth_by_set_and_over_all_cells():
    found = summary(CELLS)
    assert list(found) == ["har", "wine", "hapt", "all"]
    assert found["wine"]["absolute"] == pytest.approx(0.045)
    assert found["all"]["signed"] == pytest.approx((0.0 + 0.045 + 0.035) / 3)
    assert found["all"]["cells"] == 3
    assert found["har"]["single"] == pytest.approx(0.02)


def test_a_csv_has_every_cell_too():
    rows = list(csv.DictReader(io.StringIO(comma_separated(CELLS))))
    assert [row["lost"] for row in rows] == ["False", "True", "False"]
    assert rows[0]["best_control"] == "shrunken"
    assert float(rows[1]["difference"]) == -0.015
