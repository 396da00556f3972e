"""Which options of outputs go together; what is refused names the value and the remedy."""

from __future__ import annotations

import argparse
import socket
import sys
from pathlib import Path

import pytest

from edge_agent.cli import main
from edge_agent.errors import SourceError
from edge_agent.output import open_output
from edge_agent.output.options import add_outputs, addresses, check_outputs, mode

OWN = ("--output-broker", "mqtt://home.example")


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_outputs(parser)
    args = parser.parse_args(words)
    check_outputs(args)
    return args


def test_without_a_word_records_go_to_standard_output():
    assert addresses(parsed()) == ["-"]
    assert mode(parsed()) == 0o600


def test_several_outputs_at_once():
    args = parsed("--output", "-", "--output", "unix:served", "--output", "mqtt:fsir/pi", *OWN)
    assert addresses(args) == ["-", "unix:served", "mqtt:fsir/pi"]


@pytest.mark.parametrize(("text", "expected"), [("0660", 0o660), ("600", 0o600), ("0777", 0o777)])
def test_modes_are_octal(text, expected):
    assert mode(parsed("--output", "unix:served", "--output-mode", text)) == expected


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--output", "a", "--output", "a"], "name each output once"),
        (["--output", "mqtt:fsir/pi"], "give the broker of your own"),
        (["--output", "mqtt:", *OWN], "write mqtt:TOPIC"),
        (["--output", "mqtt:a/#", *OWN], "write mqtt:TOPIC"),
        (["--output", "mqtt:+/a", *OWN], "write mqtt:TOPIC"),
        (["--output", "mqtt:/a", *OWN], "write mqtt:TOPIC"),
        (["--output", "mqtt:a/", *OWN], "write mqtt:TOPIC"),
        (["--output", "mqtt:$SYS/a", *OWN], "write mqtt:TOPIC"),
        (["--output", "mqtt:a\nb", *OWN], "write mqtt:TOPIC"),
        (["--output", f"mqtt:{'a' * 201}", *OWN], "write mqtt:TOPIC"),
        ([*OWN], "--output-broker means nothing without --output mqtt:"),
        (["--output-group", "home"], "--output-group means nothing without --output unix:"),
        (["--output", "file", "--output-mode", "0660"], "--output-mode means nothing"),
        (["--output", "unix:a", "--output-mode", "rw"], "give an octal number"),
        (["--output", "unix:a", "--output-mode", "0068"], "give an octal number"),
        (["--output", "unix:a", "--output-mode", "060"], "give an octal number"),
        (["--output", "unix:a", "--output-mode", "01777"], "give an octal number"),
    ],
)
def test_what_contradicts_itself_is_refused(words, complaint):
    with pytest.raises(SourceError, match=complaint):
        parsed(*words)


def run(broker: str, source: str, folder: Path, *more: str) -> list[str]:
    part = ["run", "--broker", broker, "--task", "t", "--device", "d"]
    return [*part, "--source", source, "--state", str(folder / "state"), *more]


@pytest.mark.parametrize("where", ["/nowhere/served", "/", "unix:/nowhere/served", "unix:/"])
def test_an_output_that_cannot_be_written_is_a_clear_error(where, tmp_path, capsys):
    (tmp_path / "data.jsonl").write_text("{}\n")
    source = f"jsonl:{tmp_path / 'data.jsonl'}"
    code = main(run("mqtt://127.0.0.1:9", source, tmp_path, "--output", where))
    said = capsys.readouterr().err.strip().splitlines()
    assert code == 2
    assert said[-1].startswith(f"fsir-agent: output {where}: ")
    assert "give a " in said[-1]


def test_standard_output_is_a_dash():
    assert open_output("-")._file is sys.stdout


def test_the_tasks_broker_is_refused_before_anything_is_opened(tmp_path, capsys):
    with socket.create_server(("127.0.0.1", 0)) as broker:
        port = broker.getsockname()[1]
        more = ("--output", "mqtt:home", "--output-broker", f"mqtt://127.0.0.1:{port}")
        code = main(run(f"mqtt://localhost:{port}", "jsonl:-", tmp_path, *more))
    assert code == 2
    assert "this is the task's broker" in capsys.readouterr().err
    assert not (tmp_path / "state").exists()
