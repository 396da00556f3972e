"""`fsir-aggregator serve`: what it says before it connects."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomli_w

from tests.aggregator.commands.lines import TASK, fails
from tests.aggregator.federations import make_task


def test_errors_name_the_value_and_the_remedy(
    capsys: pytest.CaptureFixture[str], store: str, tmp_path: Path
) -> None:
    serve = ["serve", "--store", store, "--broker"]
    assert "does not exist" in fails(capsys, *serve, "mqtt://localhost", "--task", "none.toml")
    file = tmp_path / "t.toml"
    file.write_text(tomli_w.dumps(TASK.table()))
    assert "mqtt://HOST" in fails(capsys, *serve, "localhost:1883", "--task", str(file))
    changed = tmp_path / "changed.toml"
    changed.write_text(tomli_w.dumps(make_task(p=3, records=61).table()))
    assert "give it epoch 2" in fails(capsys, *serve, "mqtt://localhost", "--task", str(changed))
