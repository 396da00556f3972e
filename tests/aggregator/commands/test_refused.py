"""`fsir-aggregator refused`."""

from __future__ import annotations

import pytest

from tests.aggregator.commands.lines import run, run_json


def test_refused(capsys: pytest.CaptureFixture[str], store: str) -> None:
    text = run(capsys, "refused", "--store", store)
    assert "d9" in text
    assert "1 x malformed: the bytes are not a report of this protocol" in text
    answer = run_json(capsys, "refused", "--store", store)
    assert answer["counts"] == {"malformed": 1}
    (newest,) = answer["newest"]
    assert (newest["device"], newest["bytes"]) == ("d9", 7)
    assert run_json(capsys, "refused", "--store", store, "--limit", "0")["newest"] == []


def test_only_of_one_task(capsys: pytest.CaptureFixture[str], store: str) -> None:
    (newest,) = run_json(capsys, "refused", "--store", store, "--task", "test")["newest"]
    assert newest["task"] == "test"
    other = run_json(capsys, "refused", "--store", store, "--task", "screened")
    assert other == {"counts": {}, "newest": []}
