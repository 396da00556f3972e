"""`fsir-aggregator devices`."""

from __future__ import annotations

import pytest

from tests.aggregator.commands.lines import run, run_json


def test_devices(capsys: pytest.CaptureFixture[str], store: str) -> None:
    text = run(capsys, "devices", "--store", store)
    assert "8 devices, 8 reports" in text
    assert text.count("withdrawn") == 1
    reports = run_json(capsys, "devices", "--store", store)["reports"]
    assert {entry["device"] for entry in reports if entry["withdrawn"]} == {"d4"}
