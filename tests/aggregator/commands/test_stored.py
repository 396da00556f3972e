"""Commands that look into a store: which one, and which of its tasks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.aggregator.commands.lines import fails


def test_errors_name_the_value_and_the_remedy(
    capsys: pytest.CaptureFixture[str], store: str, tmp_path: Path
) -> None:
    assert "no such file" in fails(capsys, "status", "--store", f"sqlite:{tmp_path / 'none.db'}")
    assert "sqlite:PATH" in fails(capsys, "status", "--store", "none.db")
    assert "it holds: test, screened" in fails(capsys, "status", "--store", store, "--task", "tset")
