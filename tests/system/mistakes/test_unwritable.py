"""Places that cannot be written: every command that writes says so in one line, and breaks nowhere.

The tests may run as root, whom no rights stop: so there are files where folders should be, folders
that are not there, and disks without room.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.golden.command_runs import lay_out
from tests.system.mistakes.said import MODULES, ROOT, mistake

REMEDY = "give a place that can be written and has room"
_FEATURES = ["fsir-agent", "features", "walk.csv", "--acc-range", "8", "--gyro-range", "35"]
_RUN = ["fsir-agent", "run", "--broker", "mqtt://127.0.0.1:9", "--task", "plain", "--device", "d"]
_RUN += ["--source", "csv:dev-1.csv"]
_NEW = ["fsir-aggregator", "task", "new", "--sample", "public.csv", "--response", "activity"]
_SUBSPACE = ["fsir-aggregator", "subspace", "--store", "sqlite:reports.db", "--task", "plain"]
_SERVE = ["fsir-aggregator", "serve", "--broker", "mqtt://127.0.0.1:9", "--task", "plain.toml"]
_MODEL = ["fsir-sim", "model", "--devices", "3", "--records", "50", "--broker", "embedded"]
_PEOPLE = ["fsir-sim", "synthetic-har", "--devices", "3", "--windows", "40"]

NO_FOLDER = "No such file or directory"
FOLDER = "Is a directory"
FILE = "Not a directory"
EXISTS = "File exists"
FULL = "No space left on device"
# The command, the option, the place, and why it cannot be written.
CASES = [
    *(
        (line, "--output", place, why)
        for line in (_FEATURES, [*_NEW, "--plain"], _SUBSPACE, [*_SUBSPACE, "--format", "npz"])
        for place, why in (
            ("none/x", NO_FOLDER),
            ("folder", FOLDER),
            ("walk.csv/x", FILE),
            ("/dev/full", FULL),
        )
    ),
    *(
        (line, option, place, why)
        for line, option in (
            (["fsir-sim", "figures"], "--out"),
            (["fsir-sim", "tables", "--quick"], "--out"),
            (["fsir-sim", "worth", "--sets", "digits"], "--out"),
            (["fsir-sim", "fetch", "har"], "--to"),
        )
        for place, why in (("walk.csv", EXISTS), ("walk.csv/x", FILE), ("/proc/none", NO_FOLDER))
    ),
    *((line, "--out", "walk.csv", FILE) for line in (_MODEL, _PEOPLE)),
    (["fsir-sim", "attack"], "--out", "walk.csv/x.png", EXISTS),
]


def named(case: tuple[list[str], str, str, str]) -> str:
    line, option, place, _ = case
    return f"{' '.join(line[:3])} {option} {place}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lay_out(tmp_path)
    (tmp_path / "folder").mkdir()
    return tmp_path


@pytest.mark.parametrize("case", CASES, ids=named)
def test_the_place_and_the_reason_are_said(
    case: tuple[list[str], str, str, str], folder: Path
) -> None:
    line, option, place, why = case
    said = mistake([*line, option, place], folder)
    # A command may name the folder in it that it needs.
    assert said.startswith(f"{line[0]}: {option} {place.removesuffix('/x.png')}")
    assert f": {why}; " in said


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("walk.csv", "state directory walk.csv: File exists; give a directory of your own"),
        ("walk.csv/x", "state directory walk.csv/x: Not a directory; give a directory of your own"),
        ("/proc/none", "state directory /proc/none: No such file or directory; give a directory"),
    ],
)
def test_a_state_that_cannot_be_made(place: str, words: str, folder: Path) -> None:
    assert mistake([*_RUN, "--state", place], folder).startswith(f"fsir-agent: {words}")


@pytest.mark.parametrize("place", ["none/reports.db", "folder", "/proc/none.db"])
def test_a_store_that_cannot_be_made(place: str, folder: Path) -> None:
    said = mistake([*_SERVE, "--store", f"sqlite:{place}"], folder)
    assert said == (
        f"fsir-aggregator: store {place}: unable to open database file; "
        "give the path of a writable file in an existing folder"
    )


# --- full disks -----------------------------------------------------------------------------------


def without_room(line: list[str], folder: Path, room: int = 0) -> str:
    """What is said by a program whose files may not grow beyond so many bytes."""
    program, *words = line
    command = [sys.executable, "-B", "-m", MODULES[program], *words]
    done = subprocess.run(
        command,
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room)),
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert done.stderr.startswith(f"{program}: ")
    return done.stderr.rstrip("\n")


def test_a_disk_without_room_for_a_state(folder: Path) -> None:
    said = without_room([*_RUN, "--state", "fresh"], folder)
    assert "fresh" in said
    assert "disk" in said
    assert "use another" in said


def test_a_disk_without_room_for_a_store(folder: Path) -> None:
    said = without_room([*_SERVE, "--store", "sqlite:fresh.db"], folder)
    assert said.startswith("fsir-aggregator: store fresh.db: ")
    assert said.endswith("; give the path of a writable file in an existing folder")


@pytest.mark.parametrize(
    "line",
    [
        ["fsir-agent", "forget", "--state", "learning"],
        ["fsir-agent", "label", "walk", "--state", "learning"],
        ["fsir-aggregator", "withdraw", "dev-2", "--store", "sqlite:reports.db"],
    ],
    ids=" ".join,
)
def test_a_disk_without_room_for_a_change(line: list[str], folder: Path) -> None:
    """And nothing has changed."""
    (folder / "learning" / "labels.jsonl").unlink(missing_ok=True)
    kept = folder / "kept"
    shutil.copytree(folder / "learning", kept)
    said = without_room(line, folder)
    assert "\n" not in said
    before = (kept / "agent.sqlite").read_bytes()
    assert (folder / "learning" / "agent.sqlite").read_bytes() == before


@pytest.mark.parametrize(
    "line",
    [
        _SUBSPACE,
        ["fsir-agent", "status", "--state", "serving"],
        ["fsir-agent", "ledger", "--state", "serving"],
        _FEATURES,
        ["fsir-sim", "table", "--model", "I", "--n", "200", "--reps", "2"],
    ],
    ids=" ".join,
)
def test_a_standard_output_without_room(line: list[str], folder: Path) -> None:
    program, *words = line
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", MODULES[program], *words],
            cwd=folder,
            env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(folder)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert FULL in done.stderr
    assert "not complete" in done.stderr
