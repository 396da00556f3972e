"""`fsir-aggregator withdraw`."""

from __future__ import annotations

import pytest

from tests.aggregator.commands.lines import run, run_json


def test_withdraw(capsys: pytest.CaptureFixture[str], store: str) -> None:
    text = run(capsys, "withdraw", "d1", "--store", store)
    assert "task test: 'd1' 1 report(s) taken out" in text
    assert "task screened: 'd1' had no report here" in text
    answer = run_json(capsys, "withdraw", "d1", "--store", store)
    assert answer["withdrawn_reports"] == {"test": 0, "screened": 0}
    assert answer["scrubbed"]
    (plain, _) = run_json(capsys, "status", "--store", store, "--recount")["tasks"]
    assert plain["stages"]["final"] == {"devices": 3, "records": 180, "recount": True}
