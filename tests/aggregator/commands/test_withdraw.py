"""`fsir-aggregator withdraw` and `readmit`, which undoes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from aggregator.core import Aggregator
from aggregator.store.opening import open_store
from tests.aggregator.batches import verdict_of
from tests.aggregator.commands.lines import OTHER, TASK, fails, run, run_json
from tests.aggregator.federations import report, topic


def test_withdraw(capsys: pytest.CaptureFixture[str], store: str) -> None:
    text = run(capsys, "withdraw", "d1", "--store", store)
    assert "task test: 'd1' 1 report(s) taken out" in text
    assert "task screened: 'd1' had no report here" in text
    answer = run_json(capsys, "withdraw", "d1", "--store", store)
    assert answer["withdrawn_reports"] == {"test": 0, "screened": 0}
    assert answer["scrubbed"]
    (plain, _) = run_json(capsys, "status", "--store", store, "--recount")["tasks"]
    assert plain["stages"]["final"] == {"devices": 3, "records": 180, "recount": True}


def test_a_name_that_nobody_has_heard_of_is_most_likely_a_slip(
    capsys: pytest.CaptureFixture[str], store: str, tmp_path: Path
) -> None:
    before = run_json(capsys, "status", "--store", store)["tasks"][0]["withdrawn"]
    told = fails(capsys, "withdraw", "d11", "--store", store)
    assert "'d11': no such device has reported" in told
    assert "did you mean" in told
    assert "'d1'" in told
    assert "--future" in told
    assert run_json(capsys, "status", "--store", store)["tasks"][0]["withdrawn"] == before
    text = run(capsys, "withdraw", "d11", "--future", "--store", store)
    assert "task test: 'd11' had no report here; a future one will be refused" in text
    told = fails(capsys, "withdraw", "a b/c", "--future", "--store", store)
    assert "'a b/c': no device can have this name" in told
    # Who is expected is known, before it has reported.
    (tmp_path / "names").write_text("garden\n")
    roster = ["roster", "import", str(tmp_path / "names"), "--store", store, "--task", "test"]
    run(capsys, *roster)
    run(capsys, "withdraw", "garden", "--store", store)


# --- readmit --------------------------------------------------------------------------------------


def counted(store: str, device: str, seed: int) -> str:
    """What becomes of a report that comes now."""
    aggregator = Aggregator(open_store(store), [TASK, OTHER])
    aggregator.start(0.0)
    verdict = verdict_of(aggregator, topic(TASK, device), report(TASK, device, seed))
    aggregator.store.close()
    return verdict.status


def test_readmit(capsys: pytest.CaptureFixture[str], store: str) -> None:
    """d4 was withdrawn in both tasks; in one of them it had reported."""
    before = run_json(capsys, "status", "--store", store, "--recount")["tasks"][0]["stages"]
    text = run(capsys, "readmit", "d4", "--store", store)
    assert "task test: 'd4' is let in again; 1 report(s) of it were deleted" in text
    assert "task screened: 'd4' is let in again; it had no report here" in text
    assert counted(store, "d4", 99) == "refused"
    assert counted(store, "d4", 4) == "counted"
    assert counted(store, "d4", 4) == "duplicate"
    after = run_json(capsys, "status", "--store", store, "--recount")["tasks"][0]["stages"]
    assert after["final"] == {"devices": 5, "records": 300, "recount": True}
    assert before["final"]["devices"] == 4


def test_who_was_not_withdrawn_is_not_readmitted(
    capsys: pytest.CaptureFixture[str], store: str
) -> None:
    assert "'d1' was not withdrawn" in fails(capsys, "readmit", "d1", "--store", store)
    run(capsys, "withdraw", "kitchen", "--future", "--store", store)
    told = fails(capsys, "readmit", "kichen", "--store", store)
    assert "did you mean 'kitchen'?" in told
    answer = run_json(capsys, "readmit", "kitchen", "--store", store, "--task", "test")
    assert answer == {"device": "kitchen", "deleted_reports": {"test": 0}}
    answer = run_json(capsys, "readmit", "kitchen", "--store", store)
    assert answer["deleted_reports"] == {"screened": 0}
