"""Where the state is if nobody says."""

from __future__ import annotations

import pytest

from edge_agent.cli import main
from edge_agent.commands.settings.options import default_state


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "/home/me/.local/state/fsir"),
        ({"XDG_STATE_HOME": "/var/me"}, "/var/me/fsir"),
        ({"XDG_STATE_HOME": "relative"}, "/home/me/.local/state/fsir"),
        ({"XDG_STATE_HOME": "/var/me", "STATE_DIRECTORY": "/a:/b"}, "/a"),
        ({"STATE_DIRECTORY": "/a", "FSIR_STATE": "/mine"}, "/mine"),
        ({"FSIR_STATE": "", "STATE_DIRECTORY": ""}, "/home/me/.local/state/fsir"),
    ],
)
def test_the_owner_says_else_the_system(
    environment: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_STATE_HOME", "STATE_DIRECTORY", "FSIR_STATE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert default_state() == expected


@pytest.mark.parametrize("command", ["status", "ledger", "forget"])
def test_every_command_looks_there(command, lived, monkeypatch, capsys):
    monkeypatch.setenv("FSIR_STATE", str(lived))
    assert main([command]) == 0
    monkeypatch.setenv("FSIR_STATE", str(lived / "none"))
    assert main([command]) == 2
    assert f"there is no state file {lived}/none/agent.sqlite" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line", [["status"], ["ledger"], ["forget"], ["label", "active"], ["label", "--clear"]]
)
@pytest.mark.parametrize("place", ["typo", "file", "file/typo"])
def test_a_mistyped_directory_is_named_and_nothing_is_made(line, place, tmp_path, capsys):
    (tmp_path / "file").touch()
    before = sorted(tmp_path.rglob("*"))
    assert main([*line, "--state", str(tmp_path / place)]) == 2
    said = capsys.readouterr().err
    assert f"there is no state file {tmp_path / place / 'agent.sqlite'}: has an agent run" in said
    assert sorted(tmp_path.rglob("*")) == before


def test_check_does_not_make_one_either(files, tmp_path, capsys):
    from tests.fsir.tasks import task

    assert main(["check", *files(task()), "--state", str(tmp_path / "typo")]) == 2
    assert "there is no state file" in capsys.readouterr().err
    assert not (tmp_path / "typo").exists()
