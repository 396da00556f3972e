"""`fsir-aggregator status`."""

from __future__ import annotations

import pytest

from tests.aggregator.commands.lines import run, run_json


def test_status_for_people(capsys: pytest.CaptureFixture[str], store: str) -> None:
    text = run(capsys, "status", "--store", store, "--recount")
    assert "task test, epoch 1" in text
    assert "final: 4 devices, 240 records; the stored reports add up to it" in text
    assert "active set: 3 features (x0, x1, x2)" in text
    assert "refused: malformed 1; withdrawn: 1" in text
    assert "subspace: none yet" in text  # of the other task


def test_status_for_programs(capsys: pytest.CaptureFixture[str], store: str) -> None:
    (plain, screened) = run_json(capsys, "status", "--store", store)["tasks"]
    assert plain["subspace"]["devices"] == 4
    assert len(plain["subspace"]["singular_values"]) == 2
    assert screened["stages"]["screening"] == {"devices": 3, "records": 600}
    assert screened["active"] == ["x0", "x1", "x2"]
    (only,) = run_json(capsys, "status", "--store", store, "--task", "test")["tasks"]
    assert only["task"] == "test"
