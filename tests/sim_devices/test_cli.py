"""The command fsir-sim where it has nothing to run."""

from __future__ import annotations

import pytest

from sim_devices.cli import main
from sim_devices.commands.registry import COMMANDS

PEOPLE = ["synthetic-har", "--devices", "3", "--windows", "60"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["har", "--data", "/nowhere"], "/nowhere"),
        (["model", "--broker", "smoke-signals"], "smoke-signals"),
        (["model", "--delta", "tiny"], "--delta 'tiny'"),
        ([*PEOPLE, "--volunteer", "nobody"], "'nobody'"),
        ([*PEOPLE, "--volunteer", "none", "--choose", "5"], "--volunteer"),
    ],
)
def test_mistakes_are_named(arguments, message, capsys, tmp_path):
    assert main([*arguments, "--out", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_its_page(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert f"usage: fsir-sim {command}" in capsys.readouterr().out


def test_ctrl_c_ends_quietly(monkeypatch, capsys):
    from sim_devices.commands.paper import ablation

    def interrupted(options):
        raise KeyboardInterrupt

    monkeypatch.setattr(ablation, "run", interrupted)
    assert main(["ablation"]) == 130
    assert capsys.readouterr().err == "fsir-sim: stopped\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["audit", "--n", "0"],
        ["audit", "--runs", "0"],
        ["audit", "--seed", "-1"],
        ["attack", "--seed", "-1"],
        ["poison", "--seed", "-1"],
        ["table", "--model", "I", "--seed", "-1"],
    ],
)
def test_numbers_that_cannot_be_meant(capsys, arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    *_, option, value = arguments
    assert f"argument {option}: '{value}' is not a whole number" in capsys.readouterr().err
