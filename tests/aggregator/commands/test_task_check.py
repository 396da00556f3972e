"""`fsir-aggregator task check`: what a task costs and gives."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomli_w

from aggregator.cli import main
from fsir.privacy.plan import first_stage
from fsir.task.public_map import as_text
from tests.aggregator.commands.lines import TASK, fails, run_json
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
def test_a_task_with_a_public_map_has_costs_and_no_forecast(
    check: float | None, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    task = mapped(6, 3, check=check)
    file = tmp_path / "t.toml"
    file.write_text(tomli_w.dumps(as_text(task.table())))
    answer = run_json(capsys, "task", "check", str(file))
    assert answer["expected_error"] == {}
    assert answer["stages"][0]["numbers"] == (18 if check is None else 25)
    assert answer["stages"][0]["norm"] == first_stage(task).norm
    assert main(["task", "check", str(file)]) == 0
    assert "starts from what the task says is public" in capsys.readouterr().out
