"""`fsir-agent label`: the button, while the agent runs and while it does not."""

from __future__ import annotations

import contextlib
import json
import os

import pytest

from edge_agent.cli import main
from edge_agent.labels import file as label_file
from edge_agent.labels.timeline import EXPIRES_SECONDS
from edge_agent.state.state import State
from tests.edge_agent.labels.tails import tail_of
from tests.edge_agent.world import DEVICE, simulated
from tests.fsir.tasks import task


@pytest.fixture
def state_directory(tmp_path):
    """The state of a device that has accepted a task of classes a, b, c; its agent runs on."""
    with contextlib.closing(State(tmp_path / "state", DEVICE, simulated=True)) as state:
        simulated(task(), state=state)
        yield tmp_path / "state"


def test_the_button_while_the_agent_runs(state_directory, capsys):
    where = ["--state", str(state_directory)]
    assert main(["label", "a", *where, "--since", "100", "--json"]) == 0
    pressed = json.loads(capsys.readouterr().out)
    assert main(["label", "--clear", *where]) == 0
    assert "not known" in capsys.readouterr().out
    timeline = tail_of(state_directory).timeline
    assert timeline.over(pressed["time"] + 1, pressed["time"] + 50) == "a"
    assert timeline.over(pressed["time"] + 1, pressed["time"] + 1000) == ""
    assert pressed["until"] - pressed["time"] == pytest.approx(EXPIRES_SECONDS + 100)


def test_the_button_for_a_time_in_the_past(state_directory, capsys):
    at = ["--at", "2026-01-01T10:00:00+00:00", "--for", "600", "--json"]
    assert main(["label", "b", "--state", str(state_directory), *at]) == 0
    pressed = json.loads(capsys.readouterr().out)
    assert pressed["until"] - pressed["time"] == 600
    assert tail_of(state_directory).timeline.over(pressed["time"], pressed["time"] + 599) == "b"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["flying"], "known are a, b, c"),
        ([], "--clear"),
        (["a", "--clear"], "--clear"),
        (["a", "--at", "noon"], "2026-05-01T12:30:00"),
        (["a", "--at", "9e12"], "press when it does"),
        (["a", "--at", "nan"], "seconds since the epoch"),
        (["a", "--at", "-5"], "seconds since the epoch"),
        (["a", "--at", "1e400"], "seconds since the epoch"),
        (["a", "--at", "0001-01-01"], "seconds since the epoch"),
        (["a", "--at", "9999-12-31T23:59:59"], "press when it does"),
        (["a", "--at", "2001-01-01"], "--for SECONDS"),
        (["a", "--since", "-1000"], "press when it does"),
        (["a", "--since", "nan"], "how many seconds ago"),
        (["a", "--since", "inf"], "how many seconds ago"),
        (["a", "--since", "-inf"], "how many seconds ago"),
        (["a", "--since", "99999999999"], "how many seconds ago"),
        (["a", "--since", "1e300"], "how many seconds ago"),
        (["a", "--since", "5000000"], "--for SECONDS"),
        (["a", "--for", "0"], "above 0"),
        (["a", "--for", "-1"], "above 0"),
        (["a", "--for", "nan"], "above 0"),
        (["a", "--for", "inf"], "at most 2592000"),
        (["a", "--for", "1e12"], "at most 2592000"),
        (["a", "--at", "5", "--for", "2592001"], "at most 2592000"),
        (["--clear", "--for", "1e300"], "at most 2592000"),
    ],
)
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_mistakes_with_the_button(state_directory, arguments, reason, form, capsys):
    if "--" in "".join(arguments[:-1]):
        arguments = [*arguments[:-2], f"{arguments[-2]}={arguments[-1]}"]
    assert main(["label", *arguments, *form, "--state", str(state_directory)]) == 2
    said = capsys.readouterr().err
    assert reason in said
    flag, _, value = arguments[-1].partition("=") if arguments else ("", "", "")
    if flag in ("--at", "--since", "--for"):
        shown = value if flag == "--at" else float(value)
        assert any(f"{flag} {form}:" in said for form in (value, shown))
    assert not (state_directory / label_file.FILE).exists()


def test_the_button_at_the_ends_of_what_it_takes(state_directory, capsys):
    where = ["--state", str(state_directory)]
    for more in (
        ["--at", "0", "--for", "2592000"],
        ["--for", "2592000"],
        ["--since", "2592000"],
        ["--since", "-59"],
    ):
        assert main(["label", "a", *more, *where]) == 0
    assert capsys.readouterr().out.count("until") == 4
    assert len((state_directory / label_file.FILE).read_bytes().splitlines()) == 4


def test_a_label_that_the_disk_does_not_take_is_not_reported_as_kept(
    state_directory, capsys, monkeypatch
):
    where = ["--state", str(state_directory)]
    assert main(["label", "a", *where]) == 0
    before = (state_directory / label_file.FILE).read_bytes()
    real = os.write

    def full(file, text):
        return real(file, text[:7]) if len(text) > 20 else 0

    monkeypatch.setattr(os, "write", full)
    capsys.readouterr()
    assert main(["label", "b", *where]) == 2
    monkeypatch.undo()
    said = capsys.readouterr()
    assert not said.out
    assert "No space left on device; the label was not kept" in said.err
    assert (state_directory / label_file.FILE).read_bytes() == before


@pytest.mark.parametrize("ran", [False, True])
def test_before_the_first_task_any_label_may_turn_out_to_be_known(tmp_path, ran, capsys):
    """A recording is labelled before it is read."""
    if ran:
        State(tmp_path, DEVICE).close()
    where = ["--at", "1700000000", "--for", "60", "--state", str(tmp_path)]
    assert main(["label", "sedentary", *where]) == 0
    assert "counts if the task that comes knows it" in capsys.readouterr().out
    assert main(["label", "sedentary", *where, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["known"] is False
    assert tail_of(tmp_path).timeline.over(1700000001.0, 1700000050.0) == "sedentary"
    for nonsense in ("", " ", "x" * 201, "a\ud800"):
        assert main(["label", nonsense, *where]) == 2
        assert "at most 200 characters" in capsys.readouterr().err
    assert len((tmp_path / label_file.FILE).read_bytes().splitlines()) == 2


def test_the_button_of_a_device_that_is_not_there(tmp_path, capsys):
    assert main(["label", "a", "--state", str(tmp_path / "typo")]) == 2
    assert "no state file" in capsys.readouterr().err
    assert not os.listdir(tmp_path)
