"""A program around its commands: what is imported, what it says, how it ends."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fsir.errors import FsirError
from fsir.net.program import INTERRUPTED, MISTAKE, Program

COMMANDS = {"go-on": "do it", "stop": "leave it", "file": "write or read one"}
GO_ON = """
PAGE = {"description": "Do it,\\n  in these lines.", "epilog": "That is all."}

def add_arguments(parser):
    parser.add_argument("--times", type=int, default=1, help="so often")

def run(args):
    print(f"{args.command} {args.times}")
    return args.times
"""
STOP = """
def add_arguments(parser):
    parser.add_argument("why")

def run(args):
    return 0
"""
FILE = """
ACTIONS = {"new": "write one", "look-at": "read one"}
"""
FILE_NEW = """
def add_arguments(parser):
    parser.add_argument("--name")

def run(args):
    print(f"{args.command} {args.action} {args.name}")
    return 0
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Program]:
    """`work` with its commands in the package `works`; `file look-at` cannot even be imported."""
    folder = tmp_path / "works"
    (folder / "file").mkdir(parents=True)
    sources = {
        "__init__": "",
        "go_on": GO_ON,
        "stop": STOP,
        "file/__init__": FILE,
        "file/new": FILE_NEW,
        "file/look_at": "raise ImportError('nobody asked for this one')",
    }
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    yield Program("work", "What it is for,\n  line by line.", "works", COMMANDS)
    for name in [name for name in sys.modules if name.partition(".")[0] == "works"]:
        del sys.modules[name]


def shown(capsys: pytest.CaptureFixture[str], program: Program, *arguments: str) -> str:
    """What is printed by --help and by wrong arguments."""
    with pytest.raises(SystemExit) as end:
        program.main(list(arguments))
    text = capsys.readouterr()
    assert end.value.code == (2 if text.err else 0)
    return text.out + text.err


def test_a_command_runs_and_gives_its_exit_code(
    program: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main(["go-on", "--times", "3"]) == 3
    assert capsys.readouterr().out == "go-on 3\n"
    assert program.main(["stop", "enough"]) == 0


def test_an_action_of_a_command_runs(program: Program, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["file", "new", "--name", "go-on"]) == 0
    assert capsys.readouterr().out == "file new go-on\n"


def test_without_arguments_it_takes_those_of_the_process(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/work", "go-on", "--times", "5"])
    assert program.main() == 5


def test_only_what_was_asked_for_is_imported(program: Program) -> None:
    program.main(["go-on"])
    assert "works.go_on" in sys.modules
    assert not {"works.stop", "works.file"} & set(sys.modules)
    program.main(["file", "new"])
    assert "works.file.new" in sys.modules
    assert "works.stop" not in sys.modules
    with pytest.raises(ImportError, match="nobody asked"):
        program.main(["file", "look-at"])


def test_the_help_lists_all_commands_as_they_were_given(
    program: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(capsys, program, "--help")
    assert text.startswith(
        "usage: work [-h] [--version] COMMAND ...\n\nWhat it is for,\n  line by line.\n"
    )
    lines = [" ".join(line.split()) for line in text.splitlines()]
    start = lines.index("COMMAND") + 1
    assert lines[start : start + 3] == ["go-on do it", "stop leave it", "file write or read one"]
    text = shown(capsys, program, "file", "--help")
    assert "usage: work file [-h] ACTION ..." in text
    assert "look-at" in text


def test_the_page_of_a_command(program: Program, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, program, "go-on", "--help")
    assert "Do it,\n  in these lines.\n" in text
    assert "so often" in text
    assert text.endswith("That is all.\n")
    assert "usage: work stop [-h] why" in shown(capsys, program, "stop", "--help")


def test_wrong_arguments_are_named(program: Program, capsys: pytest.CaptureFixture[str]) -> None:
    assert "arguments are required: COMMAND" in shown(capsys, program)
    assert "invalid choice: 'go' (choose from" in shown(capsys, program, "go")
    assert "arguments are required: ACTION" in shown(capsys, program, "file")
    assert "invalid choice: 'old' (choose from" in shown(capsys, program, "file", "old")
    assert "unrecognized arguments: --size" in shown(capsys, program, "go-on", "--size")
    assert "unrecognized arguments: --size" in shown(capsys, program, "--size", "go-on")


def test_what_is_raised_on_purpose_becomes_one_line(
    program: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    def mistake() -> int:
        raise FsirError("--times 0: give at least 1")

    assert program.guarded(mistake) == MISTAKE == 2
    assert capsys.readouterr().err == "work: --times 0: give at least 1\n"


def test_a_package_that_is_not_installed_is_named_with_what_to_install(
    program: Program, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "works" / "stop.py").write_text("import nobody_has_this.inside")
    assert Program("work", "", "works", COMMANDS, "extra").main(["stop", "it"]) == MISTAKE
    said = capsys.readouterr().err
    assert said.startswith("work: this needs the package nobody_has_this, which is not installed")
    assert "pip install 'fsir-edge[extra]'" in said
    assert "pip install '.[extra]'" in said
    assert said.count("\n") == 1


def test_a_package_of_another_extra_is_named_with_it(
    program: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails() -> int:
        raise ModuleNotFoundError("No module named 'cryptography'", name="cryptography.hazmat")

    assert program.guarded(fails) == MISTAKE
    assert "pip install 'fsir-edge[secure]'" in capsys.readouterr().err


def test_a_module_of_ours_that_is_not_there_is_our_mistake(program: Program) -> None:
    def fails() -> int:
        raise ModuleNotFoundError("No module named 'fsir.nowhere'", name="fsir.nowhere")

    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        program.guarded(fails)


def test_an_interruption_and_a_closed_pipe_are_quiet(
    program: Program,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    def interrupted() -> int:
        raise KeyboardInterrupt

    def nobody_reads() -> int:
        raise BrokenPipeError

    assert program.guarded(interrupted) == INTERRUPTED == 130
    assert capsys.readouterr().err == "work: stopped\n"
    with (tmp_path / "stderr").open("w") as errors:
        monkeypatch.setattr(sys, "stderr", errors)
        assert program.guarded(nobody_reads) == 0
        assert errors.closed  # so that the interpreter says nothing more at its end
    assert (tmp_path / "stderr").read_text() == ""


def test_what_is_not_foreseen_is_not_hidden(program: Program) -> None:
    def fails() -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        program.guarded(fails)
