"""`fsir-agent features`: a recording as a table, and such a table as the sample of a task."""

from __future__ import annotations

import csv
import subprocess
import sys

import numpy as np
import pytest

from aggregator.cli import main as aggregator
from edge_agent.cli import main
from edge_agent.signal.features import FEATURE_NAMES
from edge_agent.signal.grid import unit_records
from fsir.contract import load_task
from tests.edge_agent.motion import BEGIN, OPTIONS, read, recording, write_recording

RANGES = ["--acc-range", str(OPTIONS.acc_range), "--gyro-range", str(OPTIONS.gyro_range)]


@pytest.fixture
def walk(tmp_path):
    """A minute: still, then moving."""
    times, acc, gyro = recording(60)
    still = times < BEGIN + 30
    acc[still], gyro[still] = acc[still] * 0.05 + [0.9, 0.0, 0.1], gyro[still] * 0.05
    labels = np.where(still, "resting", "moving")
    labels[times > BEGIN + 50] = ""
    return write_recording(tmp_path / "walk.csv", times, acc, gyro, labels)


def table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_table_has_the_records_that_an_agent_would_see(walk, tmp_path, capsys):
    assert main(["features", str(walk), *RANGES, "--output", str(tmp_path / "t.csv")]) == 0
    rows, (records, _) = table(tmp_path / "t.csv"), read(walk)
    assert len(rows) == len(records) > 40
    assert [row["activity"] for row in rows] == [record.y or "" for record in records]
    assert {row["activity"] for row in rows} == {"resting", "moving", ""}
    found = np.array([[float(row[name]) for name in FEATURE_NAMES] for row in rows])
    expected = np.array([[record.x[name] for name in FEATURE_NAMES] for record in records])
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-12)
    labelled = sum(bool(record.y) for record in records)
    assert f"{len(rows)} records, {labelled} of them with a label" in capsys.readouterr().err


def test_a_volunteer_s_table_becomes_a_task_about_a_few_features(walk, tmp_path, capsys):
    assert main(["features", str(walk), *RANGES, "--output", str(tmp_path / "sample.csv")]) == 0
    new = [
        "task",
        "new",
        "--sample",
        str(tmp_path / "sample.csv"),
        "--response",
        "activity",
        "--keep",
        "4",
    ]
    new += [
        "--name",
        "activity",
        "--unit-records",
        str(unit_records()),
        "--output",
        str(tmp_path / "task.toml"),
    ]
    assert aggregator(new) == 0
    task = load_task(tmp_path / "task.toml")
    assert task.p == 4
    assert task.screening is None
    assert task.response.classes == ("moving", "resting")  # rows without a label are no class
    assert set(task.features.names) <= set(FEATURE_NAMES)
    assert main(["check", "--task", str(tmp_path / "task.toml")]) == 0
    assert "activity" in capsys.readouterr().out


def test_half_a_table_is_enough_for_head(walk):
    command = [sys.executable, "-m", "edge_agent", "features", str(walk), *RANGES]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline().startswith("tBodyAcc-mean()-X,")
        process.stdout.close()
        assert "Traceback" not in process.stderr.read()
        assert process.wait() == 0


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
