"""`fsir-aggregator task new`: a task from a public sample."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest

from fsir.contract import load_task
from tests.aggregator.commands.lines import fails, run, run_json


def write_wide(path: Path, rows: Iterable[Sequence[object]]) -> None:
    """A sample of a hundred features and the response y."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"x{j}" for j in range(100)), "y"])
        writer.writerows(rows)


def test_a_new_task_from_a_sample_with_classes(
    capsys: pytest.CaptureFixture[str], sample: Path
) -> None:
    output = sample.with_name("t.toml")
    new = ["task", "new", "--plain", "--sample", str(sample), "--response", "label"]
    run(capsys, *new, "--features", "a,b,c,d,same", "--output", str(output))
    task = load_task(output)
    assert task.name == "public-sample"
    assert task.response.classes == ("sit", "walk")
    assert task.features.names == ("a", "b", "c", "d", "same")
    assert task.features.centre[1:4] == pytest.approx((10, 20, 30), abs=1)
    assert task.features.scale[:4] == pytest.approx((1, 2, 3, 4), rel=0.15)
    assert task.features.scale[4] == 1.0  # constant in the sample
    assert "constant in the sample, so their scale is a guess: same" in output.read_text()
    assert output.read_text().count("#") > 10
    assert "The task is valid." in run(capsys, "task", "check", str(output))


@pytest.mark.parametrize(("response", "slices"), [("number", 8), ("level", 3)])
def test_numbers_are_cut_at_quantiles_and_few_whole_ones_are_classes(
    capsys: pytest.CaptureFixture[str], sample: Path, response: str, slices: int
) -> None:
    new = ["task", "new", "--plain", "--sample", str(sample), "--response", response]
    sample.with_name("t.toml").write_text(run(capsys, *new, "--features", "a,b,c"))
    task = load_task(sample.with_name("t.toml"))
    assert task.slicing.count == slices
    assert bool(task.response.classes) == (response == "level")


def test_many_features_get_a_screening_stage(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    rows = [[*rng.normal(size=100).round(3), "ab"[i % 2]] for i in range(50)]
    write_wide(tmp_path / "wide.csv", rows)
    file = tmp_path / "t.toml"
    wide = ["task", "new", "--plain", "--sample", str(tmp_path / "wide.csv"), "--response", "y"]
    file.write_text(run(capsys, *wide))
    assert load_task(file).screening is not None
    answer = run_json(capsys, "task", "check", str(file), "--devices", "20")
    assert [stage["stage"] for stage in answer["stages"]] == ["screening", "final"]
    assert list(answer["expected_error"]) == ["20"]


def test_the_sample_may_choose_the_features_and_needs_a_response(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    telling = np.isin(np.arange(100), (17, 70))
    rows = []
    for i in range(60):
        row = rng.normal(size=100) + 9.0 * (i % 2) * telling
        rows.append([*row.round(3), ("a", "b", "")[i % 2 if i < 50 else 2]])
    sample = tmp_path / "wide.csv"
    write_wide(sample, rows)
    new = ["task", "new", "--plain", "--sample", str(sample), "--response", "y"]
    (tmp_path / "t.toml").write_text(run(capsys, *new, "--keep", "2"))
    task = load_task(tmp_path / "t.toml")
    assert task.features.names == ("x17", "x70")
    assert task.screening is None
    assert task.response.classes == ("a", "b")
    assert "1 or more" in fails(capsys, *new, "--keep", "0")
    sample.write_text("x,y\n1,\n2,\n")
    assert "two rows with a response" in fails(capsys, *new)
    sample.write_text("x,y\n1,a\n1,b\n")
    assert "constant in the sample" in fails(capsys, *new, "--keep", "1")


def test_errors_name_the_value_and_the_remedy(
    capsys: pytest.CaptureFixture[str], sample: Path
) -> None:
    new = ["task", "new", "--plain", "--sample", str(sample), "--response"]
    assert "it has a, b, c, d, same, label, number, level" in fails(capsys, *new, "y")
    words = fails(capsys, *new, "number", "--features", "a,label")
    assert "not every value is a finite number" in words
    assert "no such column" in fails(capsys, *new, "label", "--features", "z")
    assert "no such file" in fails(capsys, "task", "new", "--sample", "none.csv", "--response", "y")
    assert "between 2 and 256" in fails(capsys, *new, "number", "--slices", "1")
    one = sample.with_name("one.csv")
    lines = [line for line in sample.read_text().splitlines() if "walk" not in line]
    one.write_text("\n".join(lines))
    assert "at least two classes" in fails(capsys, *new, "label", "--sample", str(one))
