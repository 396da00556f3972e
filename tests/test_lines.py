"""Each rule about lines, broken on purpose: the checker says so, and says nothing otherwise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools import lines

ROOT = Path(__file__).resolve().parents[1]
CHECKER = ROOT / "tools" / "lines.py"


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checker is run where the folders are."""
    monkeypatch.chdir(tmp_path)


def write(name: str, text: str) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text)


@pytest.mark.parametrize(
    "line",
    [
        "a, b = 1, 2",
        "[a, b] = 1, 2",
        "a, b = [f(), g()]",
        "self.a, self.b = a, b",
        "x, y = f(), g()",
        "a = b, c = 1, 2",
        "a, b = b, 5",
        "(a, b), c = f(), 3",
        "lock, self.lock = self.lock, None",
        "count, text = count + 1, text.strip()",
        "table[k], other = k, f(k)",
        "self.a, self.b = self.c, self.d",
        "first, *rest = 1, *others",
    ],
)
def test_unrelated_values_in_one_assignment(line):
    write("rooms/one.py", f"{line}\n")
    assert lines.faults(["rooms"]) == [
        "rooms/one.py:1: packed assignment",
        "rooms: 1 packed assignments in 1 lines",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "a, b = f()",
        "a, b = pair",
        "a, b = b, a",
        "low, high = high, 2 * high",
        "a, b = b, a + b",
        "self.a, self.b = self.b, self.a",
        "x[i], x[j] = x[j], x[i]",
        "a, b, c = b, c, a + b + c",
        "pair = 1, 2",
        "names = ['a', 'b']",
        "a = b = 0",
        "for a, b in ((1, 2), (3, 4)): pass",
        "key, request = (folder / name for name in ('key', 'request'))",
    ],
)
def test_what_belongs_together_may_stay_together(line):
    write("rooms/one.py", f"{line}\n")
    assert lines.faults(["rooms"]) == []


def test_a_few_packs_in_a_large_folder_are_let_pass():
    pack = "a, b = 1, 2\n"
    write("rooms/one.py", pack * 2 + "x = 1\n" * 998)
    assert lines.faults(["rooms"]) == []
    write("rooms/one.py", pack * 3 + "x = 1\n" * 997)
    assert lines.faults(["rooms"])[-1] == "rooms: 3 packed assignments in 1000 lines"


@pytest.mark.parametrize("start", ["x = ", "# ", '"""'])
def test_a_line_that_is_too_long(start):
    text = start + "1" * (100 - len(start))
    end = start if start == '"""' else ""
    write("rooms/one.py", f"{text}\n{end}\n")
    assert lines.faults(["rooms"]) == []
    write("rooms/one.py", f"{text}1\n{end}\n")
    assert lines.faults(["rooms"]) == ["rooms/one.py:1: 101 columns"]


def test_a_strange_line_break_inside_of_a_text_makes_no_line_shorter():
    write("rooms/one.py", f"x = '{'a' * 60}\u2028{'a' * 60}'\n")
    assert lines.faults(["rooms"]) == ["rooms/one.py:1: 127 columns"]


@pytest.mark.parametrize("comment", ["# fmt: skip", "#fmt:skip", "# noqa: E501  # fmt: skip"])
def test_a_formatter_that_is_off_too_often(comment):
    write("rooms/one.py", f"x = 1  {comment}\n" * 10)
    assert lines.faults(["rooms"]) == []
    write("more/two.py", "# fmt: off\nx = 1\n# fmt: on\n")
    problems = lines.faults(["rooms", "more"])
    assert len(problems) == 12
    assert problems[-2:] == [
        "more/two.py:1: the formatter is off",
        "the formatter is off 11 times, at most 10",
    ]


def test_a_text_about_the_formatter_leaves_it_on():
    write("rooms/one.py", 'x = "# fmt: skip"\n' * 20)
    assert lines.faults(["rooms"]) == []


def test_a_folder_with_too_many_modules():
    for number in range(14):
        write(f"rooms/kitchen/m{number}.py", "")
    assert lines.faults(["rooms"]) == []
    write("rooms/kitchen/__init__.py", "")
    assert lines.faults(["rooms"]) == ["rooms/kitchen: 15 modules, at most 14"]


@pytest.mark.parametrize("package", lines.MOST_AT_ROOT)
def test_a_package_with_too_many_modules_at_its_root(package):
    most = lines.MOST_AT_ROOT[package]
    for number in range(most):
        write(f"{package}/m{number}.py", "")
        write(f"{package}/inside/m{number}.py", "")
    assert lines.faults([package]) == []
    write(f"{package}/another.py", "")
    assert lines.faults([package]) == [f"{package}: {most + 1} modules, at most {most}"]


def test_a_script_without_a_suffix_is_read_too():
    write("deploy/provision", f"#!/usr/bin/env python3\n# {'x' * 99}\n")
    write("deploy/start", f"#!/bin/sh\n# {'x' * 99}\n")
    write("deploy/notes.txt", "x" * 200)
    assert lines.faults(["deploy"]) == ["deploy/provision:2: 101 columns"]


def test_one_file_can_be_named():
    write("rooms/one.py", "a, b = 1, 2\n")
    assert lines.faults(["rooms/one.py"])[0] == "rooms/one.py:1: packed assignment"


def test_a_folder_that_is_not_there_is_no_clean_folder():
    with pytest.raises(FileNotFoundError, match="nowhere"):
        lines.faults(["nowhere"])


def test_the_command_says_what_is_wrong_and_fails():
    write("fsir/one.py", "x = 1\n")
    command = [sys.executable, str(CHECKER)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "lines: fine\n")
    write("fsir/one.py", f"# {'x' * 99}\n")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "fsir/one.py:1: 101 columns\n")
