"""Every wrong table ends in one message that names file, place, value and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.mistakes import PROGRAMS, answer, names_of, read_answers


@pytest.mark.parametrize(
    ("program", "name"), [(program, name) for program in PROGRAMS for name in names_of(program)]
)
def test_a_wrong_table_is_answered_as_it_was(program: str, name: str, tmp_path: Path) -> None:
    """To the letter; nothing is a traceback."""
    said = answer(program, name, tmp_path)
    assert said == read_answers(program)[name]
    assert "Traceback" not in said


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_answer_has_its_mistake(program: str) -> None:
    """No golden answer is left that nobody compares with."""
    assert list(read_answers(program)) == names_of(program)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_refusal_is_one_line_about_what_was_given(program: str) -> None:
    """It begins with the program and an option, a file or a field, and ends with a remedy."""
    refusals = [said for said in read_answers(program).values() if said.startswith("exit code 2")]
    assert len(refusals) >= 20
    for said in refusals:
        *_, line = said.splitlines()
        assert line.startswith(("fsir-aggregator: ", "fsir-agent: ", "fsir-sim: ")), said
        assert any(mark in line for mark in (";", ":", "?")), said
