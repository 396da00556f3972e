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


def test_who_may_look_is_settled_before_anything_runs(
    capsys: pytest.CaptureFixture[str], store: str, tmp_path: Path
) -> None:
    file = tmp_path / "t.toml"
    file.write_text(tomli_w.dumps(TASK.table()))
    serve = ["serve", "--store", store, "--broker", "mqtt://localhost", "--task", str(file)]
    token = str(tmp_path / "token")
    assert "give --http too" in fails(capsys, *serve, "--http-token-file", token)
    here = [*serve, "--http", "127.0.0.1:0"]
    assert "X-Remote-User" in fails(capsys, *here, "--http-user-header", "Remote User")
    assert "--http-token-file" in fails(capsys, *serve, "--http", "0.0.0.0:0")
    Path(token).write_text("short")
    assert "a good one is made" in fails(capsys, *here, "--http-token-file", token)
