"""The command line `fsir-aggregator`: every command explains itself."""

from __future__ import annotations

import pytest

from aggregator.cli import main

COMMANDS = [
    *["serve", "status", "subspace", "refused", "devices", "roster", "withdraw", "readmit", "task"],
]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(capsys: pytest.CaptureFixture[str], command: str) -> None:
    with pytest.raises(SystemExit) as done:
        main([command, "--help"])
    assert done.value.code == 0
    assert len(capsys.readouterr().out) > 200


@pytest.mark.parametrize(
    "action", ["task new", "task check", "roster import", "roster list", "roster remove"]
)
def test_every_action_explains_itself(capsys: pytest.CaptureFixture[str], action: str) -> None:
    with pytest.raises(SystemExit) as done:
        main([*action.split(), "--help"])
    assert done.value.code == 0
    assert f"usage: fsir-aggregator {action}" in capsys.readouterr().out
