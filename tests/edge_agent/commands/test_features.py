"""`fsir-agent features`: a recording as a table, and such a table as the sample of a task."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from aggregator.cli import main as aggregator
from edge_agent.cli import main
from edge_agent.signal.features import FEATURE_NAMES
from edge_agent.signal.grid import unit_records
from fsir.contract import load_task
from tests.edge_agent.commands.recordings import RANGES, write_walk
from tests.edge_agent.motion import read


@pytest.fixture
def walk(tmp_path):
    """A minute: still, then moving."""
    return write_walk(tmp_path)


def table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_table_has_the_records_that_an_agent_would_see(walk, tmp_path, capsys):
    assert main(["features", str(walk), *RANGES, "--output", str(tmp_path / "t.csv")]) == 0
    rows = table(tmp_path / "t.csv")
    records, _ = read(walk)
    assert len(rows) == len(records) > 40
    assert [row["activity"] for row in rows] == [record.y or "" for record in records]
    assert {row["activity"] for row in rows} == {"resting", "moving", ""}
    written = np.array([[float(row[name]) for name in FEATURE_NAMES] for row in rows])
    expected = np.array([[record.x[name] for name in FEATURE_NAMES] for record in records])
    np.testing.assert_allclose(written, expected, rtol=1e-6, atol=1e-12)
    labelled = sum(bool(record.y) for record in records)
    assert f"{len(rows)} records, {labelled} of them with a label" in capsys.readouterr().err


def test_a_volunteer_s_table_becomes_a_task_about_a_few_features(walk, tmp_path, capsys):
    assert main(["features", str(walk), *RANGES, "--output", str(tmp_path / "sample.csv")]) == 0
    sample = ["--sample", str(tmp_path / "sample.csv"), "--response", "activity", "--keep", "4"]
    about = ["--name", "activity", "--unit-records", str(unit_records())]
    output = ["--output", str(tmp_path / "task.toml")]
    assert aggregator(["task", "new", *sample, *about, *output]) == 0
    task = load_task(tmp_path / "task.toml")
    assert task.p == 4
    assert task.screening is None
    assert task.response.classes == ("moving", "resting")  # rows without a label are no class
    assert set(task.features.names) <= set(FEATURE_NAMES)
    assert main(["check", "--task", str(tmp_path / "task.toml")]) == 0
    assert "activity" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.csv", *RANGES], "none.csv"),
        (["walk.csv"], "--acc-range"),
        (["walk.csv", *RANGES, "--output", "no/such/place.csv"], "no/such/place.csv: No such file"),
        (["walk.csv", *RANGES, "--response", FEATURE_NAMES[0]], "choose another one"),
    ],
)
def test_errors_name_the_value_and_the_remedy(walk, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(walk.parent)
    assert main(["features", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_full_disk_is_told(walk, capsys):
    assert main(["features", str(walk), *RANGES, "--output", "/dev/full"]) == 2
    assert "No space left on device; the table is not complete" in capsys.readouterr().err
