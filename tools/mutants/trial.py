"""One mutant on trial: a copy of the source, the fast tests of `fsir`, and the quick audit."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tools.mutants.mutant import MovedError, Mutant

COPIED = ("fsir", "edge_agent", "aggregator", "sim_devices", "tests", "docs", "pyproject.toml")
_PYTEST = ("-m", "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist")
_FAST = ("-m", "not slow and not long")
# The most telling first; what follows is looked at only if these say nothing.
_TESTS = (("tests/fsir/privacy",), ("tests/fsir", "--ignore", "tests/fsir/privacy"))
_AUDIT = ("-m", "sim_devices.audit", "audit", "--quick")
_FAILED = re.compile(r"^FAILED tests/(\S+?\.py)::([^\s\[]+)", re.MULTILINE)
_UNEXPECTED = re.compile(r"^UNEXPECTED: [A-Z ]+: \S+(?: \S+)? on (.+?) claims", re.MULTILINE)
_FAULT = re.compile(r"^UNEXPECTED: .*\n    (.+)$", re.MULTILINE)
_SUMMARY = re.compile(r"^\d+ questions, (\d+) unexpected answers", re.MULTILINE)
_LIMIT_SECONDS = 1200.0


class TrialError(Exception):
    """A trial that says nothing: a copy that does not even run, or an audit that does not end."""


@dataclass(frozen=True)
class Outcome:
    """Who has seen the mistake, and by what; empty: nobody has."""

    name: str
    tests: str = ""
    audit: str = ""
    error: str = ""  # why the trial says nothing

    @property
    def killed(self) -> bool:
        """Whether the mistake was seen."""
        return bool(self.tests or self.audit) and not self.error


def copied(root: Path, place: Path) -> Path:
    """The packages and their tests, without what a run leaves behind."""
    leave_out = shutil.ignore_patterns("__pycache__", ".hypothesis", "*.pyc")
    for name in COPIED:
        if (root / name).is_dir():
            shutil.copytree(root / name, place / name, ignore=leave_out)
        else:
            shutil.copy2(root / name, place / name)
    return place


def tried(root: Path, place: Path, mutant: Mutant | None) -> Outcome:
    """Copy to `place`, make the mistake there, and look who sees it; no mutant: nobody should."""
    name = "(none)" if mutant is None else mutant.name
    copy = copied(root, place)
    try:
        if mutant is not None:
            mutant.apply(copy)
        return Outcome(name, _tested(copy), _audited(copy))
    except (MovedError, TrialError) as error:
        return Outcome(name, error=str(error))


def _run(copy: Path, arguments: tuple[str, ...]) -> tuple[int, str]:
    """In a process that finds the packages in the copy and nowhere else first."""
    environment = os.environ | {
        "PYTHONPATH": str(copy),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=copy,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_LIMIT_SECONDS,
        check=False,
    )
    return done.returncode, done.stdout


def _tested(copy: Path) -> str:
    """The first test that fails."""
    for where in _TESTS:
        code, said = _run(copy, (*_PYTEST, *_FAST, *where))
        failed = _FAILED.search(said)
        if code == 1 and failed is not None:
            return f"{failed[1].rpartition('/')[2]}: {failed[2]}"
        if code != 0:
            raise TrialError(f"its tests do not run:\n{said[-3000:]}")
    return ""


def _audited(copy: Path) -> str:
    """The first case with an unexpected answer, and the first fault in it."""
    code, said = _run(copy, _AUDIT)
    summary = _SUMMARY.search(said)
    if summary is None or code not in (0, 1):
        raise TrialError(f"its audit does not end:\n{said[-3000:]}")
    if int(summary[1]) == 0:
        return ""
    case = _UNEXPECTED.search(said)
    fault = _FAULT.search(said)
    return (
        f"{case[1] if case else 'unexpected'}: {fault[1] if fault else 'a bound above the claim'}"
    )
