"""`fsir-aggregator task check`: what a task costs and gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from aggregator.cli import main
from fsir.privacy.plan import first_stage
from fsir.task.public_map import as_text
from tests.aggregator.commands.lines import TASK, fails, run_json
from tests.aggregator.secure.pair import secure_task
from tests.fsir.tasks import mapped


def test_check_shows_that_more_devices_and_more_signal_help(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "t.toml"
    file.write_text(tomli_w.dumps(TASK.table()))
    check = ["task", "check", str(file), "--devices", "10,1000", "--signal"]
    weak = run_json(capsys, *check, "0.1")
    strong = run_json(capsys, *check, "0.6")
    assert weak["expected_error"]["10"] > weak["expected_error"]["1000"]
    assert weak["expected_error"]["10"] > strong["expected_error"]["10"]
    file.write_text(tomli_w.dumps(TASK.table() | {"aggregation": "trimmed"}))
    trimmed = run_json(capsys, *check, "0.1")
    ratio = trimmed["expected_error"]["1000"] / weak["expected_error"]["1000"]
    assert 1.02 < ratio < 1.25  # variance: 1.2
    needed = weak["stages"][0]["records_for_noise"]
    assert needed["0.02"] > needed["0.1"] > 1


def test_errors_name_the_value_and_the_remedy(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert "does not exist" in fails(capsys, "task", "check", "none.toml")
    (tmp_path / "t.toml").write_text(tomli_w.dumps(TASK.table()))
    check = ["task", "check", str(tmp_path / "t.toml")]
    assert "whole numbers of devices" in fails(capsys, *check, "--devices", "ten")
    assert "between 0 and 1" in fails(capsys, *check, "--signal", "2")


@pytest.mark.parametrize("check", [None, 1.0])
def test_a_task_with_a_public_map_has_costs_and_a_forecast(
    check: float | None, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    task = mapped(6, 3, check=check)
    file = tmp_path / "t.toml"
    file.write_text(tomli_w.dumps(as_text(task.table())))
    answer = run_json(capsys, "task", "check", str(file))
    assert list(answer["expected_error"]) == ["10", "100", "1000"]
    assert answer["stages"][0]["numbers"] == (18 if check is None else 25)
    assert answer["stages"][0]["norm"] == first_stage(task).norm
    assert main(["task", "check", str(file)]) == 0
    said = capsys.readouterr().out
    assert "no reports" in said
    assert "1000 devices" in said


def written(task_table: dict[str, object], tmp_path: Path) -> str:
    file = tmp_path / "t.toml"
    file.write_text(tomli_w.dumps(task_table))
    return str(file)


def test_the_noise_of_a_slice_mean_is_that_of_its_own_records(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The noise of a sum over the records of the slice, never over those of the whole report."""
    task = mapped(6, 3)
    assert task.public is not None
    answer = run_json(capsys, "task", "check", written(as_text(task.table()), tmp_path))
    (stage,) = answer["stages"]
    n = task.report.records or 0
    for label, share in zip(task.slicing.labels, task.public.shares, strict=True):
        wanted = first_stage(task).sums.sd / (n * share)
        assert stage["noise_by_slice"][label] == pytest.approx(wanted)
    assert stage["noise_of_a_mean"] == max(stage["noise_by_slice"].values())
    # Where a task does not tell, all are alike; a sample may.
    file = written(TASK.table(), tmp_path)
    sd = first_stage(TASK).sums.sd
    n = TASK.report.records or 0
    (stage,) = run_json(capsys, "task", "check", file)["stages"]
    H = TASK.slicing.count
    assert stage["noise_of_a_mean"] == pytest.approx(sd / (n / H))
    sample = tmp_path / "public.csv"
    labels = TASK.response.classes
    rows = [f"{k},{labels[0] if k < 18 else labels[1 + k % (H - 1)]}" for k in range(20)]
    sample.write_text("\n".join([f"x,{TASK.response.name}", *rows, "20,never", ""]))
    (stage,) = run_json(capsys, "task", "check", file, "--sample", str(sample))["stages"]
    assert stage["noise_by_slice"][labels[0]] == pytest.approx(sd / (0.9 * n))
    assert stage["noise_of_a_mean"] == max(stage["noise_by_slice"].values())
    assert main(["task", "check", file, "--sample", str(sample)]) == 0
    said = capsys.readouterr().out
    assert "on the mean of each slice: " in said
    assert "on the mean of the rarest slice, " in said
    sample.write_text("x,mood\n1,a\n2,b\n")
    assert "response.name 'y': the sample has no such column" in fails(
        capsys, "task", "check", file, "--sample", str(sample)
    )
    sample.write_text(f"x,{TASK.response.name}\n1,never\n2,ever\n")
    assert "that the task knows; it knows" in fails(
        capsys, "task", "check", file, "--sample", str(sample)
    )


def test_a_deadline_that_has_passed_is_refused_and_one_ahead_explained(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    table = TASK.table()
    report = {"records": 60, "deadline": 1_000_000_000}
    past = written(table | {"report": report}, tmp_path)
    said = fails(capsys, "task", "check", past)
    assert "report.deadline 2001-09-09T01:46:40+00:00: has passed" in said
    ahead = written(table | {"report": report | {"deadline": 7_000_000_000}}, tmp_path)
    assert main(["task", "check", ahead]) == 0
    said = capsys.readouterr().out
    assert "60 records, the most of a report" in said
    assert "unknown: the task has a deadline" in said


def test_a_field_that_nobody_knows_is_looked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    table = TASK.table()
    for wrong, told in (
        ({"privacy": {"epsilon": 1.0, "detla": 1e-6}}, "privacy.detla = 1e-06: unknown field; did"),
        ({"unit_record": 2}, "did you mean 'privacy.unit_records'?"),
        ({"screning": {}}, "did you mean 'screening'?"),
    ):
        assert told in fails(capsys, "task", "check", written(table | wrong, tmp_path))


def test_fleets_that_make_no_cohort_are_named(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "t.toml"
    path.write_text(tomli_w.dumps(secure_task(4, cohort=12, groups=3).table()))
    assert main(["task", "check", str(path), "--devices", "10,35,36", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["never_opened"] == [10, 35]
    assert list(answer["expected_error"]) == ["36"]
    (stage,) = answer["stages"]
    # A cohort brings the noise of one local report, and each of two aggregators as much.
    local = 12**0.5 * stage["noise_of_a_sum"]
    assert stage["noise_of_an_opened_sum"] == pytest.approx(3**0.5 * local)
    assert main(["task", "check", str(path), "--devices", "10"]) == 0
    said = capsys.readouterr().out
    assert "10 devices: too few, nothing would ever be opened" in said
    assert "over one cohort has sd" in said
