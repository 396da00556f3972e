"""The command line: help, and mistakes in the settings."""

from __future__ import annotations

import pytest

from edge_agent.cli import main
from edge_agent.state.state import State

NAMES = ["--task", "t", "--device", "d"]
RUN = ["run", "--broker", "mqtt://127.0.0.1:9", *NAMES, "--source", "jsonl:-", "--state", "s"]
IIO = ["--source", "iio:mpu6050"]
PHONE = ["--source", "sensorlogger:http://127.0.0.1:9/x"]
RECORDING = ["--source", "signals:/nowhere.csv"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["status", "--state", "/nowhere"], "no state file"),
        (["check", "--task", "/nowhere.toml"], "does not exist"),
        ([*RUN[:2], "host", *RUN[3:]], "mqtt://HOST"),
        ([*RUN, "--policy", "/nowhere.toml"], "policy file"),
        ([*RUN, "--task", "t"], "once"),
        ([*RUN, "--speed", "2"], "--time-column"),
        ([*RUN, "--password-file", "/nowhere"], "password file"),
        ([*RUN, "--source", "csv:/nowhere.csv"], "there is no such file"),
        ([*RUN, "--labels", "shout"], "topic:TOPIC"),
        ([*RUN, "--labels", "topic:"], "topic:TOPIC"),
        ([*RUN, "--labels", "topic:a/#"], "one topic"),
        (
            [*RUN, "--labels", "topic:a"],
            "does not belong on the federation's broker; give the broker of your own",
        ),
        ([*RUN, "--labels", "press", "--source", "csv:/nowhere.csv"], "--time-column"),
        ([*RUN, "--label-delay", "-1"], "--label-delay"),
        ([*RUN, *IIO, "--time-column", "t"], "--time-column means nothing to --source iio:"),
        ([*RUN, *PHONE, "--time-column", "t"], "it goes with csv: and jsonl:"),
        (
            [*RUN, "--record-id", "seq"],
            "--record-id means nothing to --source jsonl:-: it goes with mqtt:",
        ),
        ([*RUN, *RECORDING, "--time-column", "stamp"], "in the column time; name that"),
    ],
)
def test_mistakes_end_with_one_clear_line(arguments, reason, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert reason in said
    assert said.count("\n") == 1
    assert not (tmp_path / "s").exists()


def test_two_agents_on_one_directory(tmp_path, capsys):
    state = State(tmp_path, "d")
    (tmp_path / "x.jsonl").write_text("")
    arguments = [*RUN[:-1], str(tmp_path), "--source", f"jsonl:{tmp_path / 'x.jsonl'}"]
    assert main(arguments) == 2
    assert "another agent is using" in capsys.readouterr().err
    state.close()


def said_by(arguments, capsys):
    """What a page of help says."""
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 0
    return capsys.readouterr().out


def test_help_teaches(capsys):
    assert "fsir-agent check --task" in said_by(["--help"], capsys)
    assert "mqtt:zigbee2mqtt/kitchen" in said_by(["run", "--help"], capsys)
    assert "--clear" in said_by(["label", "--help"], capsys)


def test_the_help_names_every_exit_code(capsys):
    said = said_by(["run", "--help"], capsys)
    assert all(f"\n  {code}   " in said for code in (0, 2, 3, 4))


def test_an_option_before_the_command_does_not_hide_what_the_command_asks_for(capsys):
    with pytest.raises(SystemExit) as left:
        main(["--unheard-of", "check"])
    assert left.value.code == 2
    assert "the following arguments are required: --task" in capsys.readouterr().err
