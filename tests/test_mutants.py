"""The mutants fit the source as it is, and a mistake that nobody sees is an error."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools.mutants import __main__ as mutants
from tools.mutants.catalogue import MUTANTS
from tools.mutants.mutant import Edit, MovedError, Mutant
from tools.mutants.trial import Outcome, TrialError, _audited, _tested, copied, tried

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_fits_the_source_and_still_compiles(tmp_path, mutant):
    for path in {edit.path for edit in mutant.edits}:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    mutant.apply(tmp_path)
    for path in {edit.path for edit in mutant.edits}:
        changed = (tmp_path / path).read_text()
        assert changed != (ROOT / path).read_text()
        compile(changed, path, "exec")


def test_all_mistakes_are_there_once():
    assert len(MUTANTS) == len({mutant.name for mutant in MUTANTS}) == 55


@pytest.mark.parametrize(("text", "times"), [("nothing", 0), ("x = 1\nx = 1\n", 2)])
def test_an_anchor_that_has_moved_is_an_error(tmp_path, text, times):
    (tmp_path / "a.py").write_text(text)
    with pytest.raises(MovedError, match=f"{times} times"):
        Edit("a.py", "x = 1", "x = 2").apply(tmp_path)
    with pytest.raises(MovedError, match="0 times"):
        Edit("b.py", "x = 1", "x = 2").apply(tmp_path)


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (Outcome("m", "test_x.py: test_y", "canary: no noise"), 0),
        (Outcome("m", "", "canary: no noise"), 0),
        (Outcome("m", "test_x.py: test_y", ""), 0),
        (Outcome("m", "", ""), 1),
        (Outcome("m", error="its audit does not end"), 1),
    ],
)
def test_a_mistake_must_be_seen_by_one_of_the_two(capsys, monkeypatch, tmp_path, outcome, code):
    healthy = Outcome("(none)", "", "")

    def tried(root, place, mutant):
        return healthy if mutant is None else outcome

    monkeypatch.setattr(mutants, "tried", tried)
    out = tmp_path / "table.md"
    assert mutants.main(["--only", "halved", "--out", str(out)]) == code
    written = out.read_text().splitlines()
    assert len(written) == 3
    assert written[-1] == f"| m | {outcome.tests or 'no'} | {outcome.audit or 'no'} |"
    assert ("NOT SEEN: m" in capsys.readouterr().err) == (code == 1)


def test_the_source_as_it_is_must_pass(capsys, monkeypatch):
    monkeypatch.setattr(mutants, "tried", lambda *_: Outcome("m", "test_x.py: test_y", ""))
    assert mutants.main(["--only", "halved"]) == 1
    assert "as it is does not pass" in capsys.readouterr().err


def test_a_copy_that_does_not_run_is_not_taken_for_a_mistake_that_was_seen(tmp_path):
    copy = copied(ROOT, tmp_path)
    (copy / "fsir" / "errors.py").write_text("this is no Python\n")
    with pytest.raises(TrialError, match="do not run"):
        _tested(copy)
    with pytest.raises(TrialError, match="does not end"):
        _audited(copy)


def test_a_mutant_that_does_not_fit_gets_no_trial(tmp_path):
    moved = Mutant("moved", (Edit("fsir/errors.py", "no such text", ""),))
    outcome = tried(ROOT, tmp_path, moved)
    assert "0 times" in outcome.error
    assert not outcome.killed
