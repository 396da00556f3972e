"""What a test needs from the machine: without it, it skips loudly, or fails where all must be."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import NoReturn

import pytest

IN_CI = os.environ.get("CI", "").lower() == "true"


def not_tested(why: str) -> NoReturn:
    """Skip; with CI=true fail, for a skip must not hide a missing part."""
    (pytest.fail if IN_CI else pytest.skip)(f"NOT TESTED: {why}")


def find(program: str) -> str | None:
    """Where a program is: on PATH, beside this Python, or where Debian keeps administrators'."""
    places = (os.environ.get("PATH", ""), str(Path(sys.executable).parent), "/usr/sbin")
    return shutil.which(program, path=os.pathsep.join(places))


def need(*programs: str) -> None:
    """Do not test without these programs."""
    if missing := [name for name in programs if find(name) is None]:
        not_tested(f"{', '.join(missing)} is not on PATH")
