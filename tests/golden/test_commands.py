"""What people see of the three commands is what version 0.1 has shown them."""

from __future__ import annotations

import os
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests.golden.command_lines import HELP, ROUNDED, TYPED
from tests.golden.command_runs import PROGRAMS, golden, transcript, words
from tests.golden.files import COMMANDS


@pytest.mark.parametrize("name", TYPED)
def test_a_command_answers_as_it_did(name: str, tmp_path: Path) -> None:
    """Exit code, output, complaints and files; the usage of argparse word by word only."""
    found = transcript(TYPED[name], tmp_path, rounded=name in ROUNDED)
    wanted = golden(name).read_text(encoding="utf-8")
    if "\nusage: " in wanted:
        assert words(found) == words(wanted)
    else:
        assert found == wanted


@pytest.mark.parametrize("name", HELP)
def test_help_says_what_it_said(name: str, tmp_path: Path) -> None:
    """Every command, option and explanation is there, in the same order."""
    found = transcript(HELP[name], tmp_path)
    assert words(found) == words(golden(name).read_text(encoding="utf-8"))


def test_every_transcript_has_its_command() -> None:
    """No golden file is left that nobody compares with."""
    assert {path.stem for path in COMMANDS.iterdir()} == {*TYPED, *HELP}


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_installed_command_is_the_one_that_is_tested(program: str) -> None:
    """What `pip install` puts on the path says the same."""
    script = Path(sysconfig.get_path("scripts")) / program
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    done = subprocess.run(
        [str(script), "--help"],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    wanted = golden(f"help-{program}").read_text(encoding="utf-8")
    assert words(done.stdout) in words(wanted)
