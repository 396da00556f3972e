"""Runs a command line in a folder with golden copies, and writes down what a user would see."""

from __future__ import annotations

import gc
import hashlib
import io
import logging
import os
import re
import shlex
import shutil
import signal
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import tomli_w

from aggregator.cli import main as aggregator_main
from edge_agent.cli import main as agent_main
from sim_devices.cli import main as sim_main
from tests.golden.federation.tasks import CLOCK, PLAIN
from tests.golden.files import COMMANDS, MOMENTS, READINGS, TASKS, copy_state, copy_store

PROGRAMS = {"fsir-agent": agent_main, "fsir-aggregator": aggregator_main, "fsir-sim": sim_main}
_TERMINAL = {"COLUMNS": "100", "NO_COLOR": "1"}
_NO_STATE = {"STATE_DIRECTORY": "", "XDG_STATE_HOME": "/nowhere"}  # where nobody says which
_LONGEST = 8000  # characters of a line: of a longer one the beginning and a digest will do
_POLICIES = {
    "owner.toml": ('epsilon = 1000.0\nunproven = ["iid"]\nexact_count = true\nversion_1 = true\n'),
    "four.toml": "epsilon = 4.5\nversion_1 = true\n",
    "strict.toml": 'epsilon = 1\nnever_share = ["heart*"]\nunit_records = 2\nlargest_clip = 2\n',
}
# Too short for a window: a table without rows, and the names of all features.
_WALK = "time,acc_x,acc_y,acc_z,gyro_x,gyro_y,gyro_z,label\n" + "".join(
    f"{1_700_000_000 + k / 50:.2f},0.9,-0.2,0.3,0.5,0.8,0.3,walk\n" for k in range(20)
)
_NAMES = "# enrolled in spring\ndev-1\ndev-2\ndev-5\ndev-8\n\ndev-2\n"


class Ended(NamedTuple):
    """How a command has ended, and what it has said until then."""

    code: int | str | None
    out: str
    err: str


def lay_out(folder: Path) -> None:
    """Copies of everything golden, policies, and files with a mistake in them."""
    for moment in MOMENTS:
        copy_state(moment, folder / moment)
    copy_store(folder / "reports.db")
    for path in (*TASKS.glob("*.toml"), READINGS / "public.csv", READINGS / "dev-1.csv"):
        shutil.copyfile(path, folder / path.name)
    for name, text in _POLICIES.items():
        (folder / name).write_text(text, encoding="utf-8")
    table = PLAIN.table()
    (folder / "misspelt.toml").write_text(tomli_w.dumps(table | {"epsilom": 1.0}), encoding="utf-8")
    (folder / "changed.toml").write_text(tomli_w.dumps(table | {"dimension": 1}), encoding="utf-8")
    (folder / "walk.csv").write_text(_WALK, encoding="utf-8")
    (folder / "names.txt").write_text(_NAMES, encoding="utf-8")
    (folder / "agent.toml").write_text('device = "dev-1"\ntask = "plain"\npolcy = "owner.toml"\n')


def transcript(line: str, folder: Path, *, rounded: bool = False) -> str:
    """The command line, its exit code, what it printed, and the files that it made."""
    lay_out(folder)
    before = _files(folder)
    ended = ran(shlex.split(line), folder)
    parts = [f"$ {line}", f"exit code {ended.code}"]
    parts += ["--- standard output", ended.out, "--- standard error", ended.err]
    for path in sorted(_files(folder) - before):
        parts += [f"--- {path.relative_to(folder)}", _content(path)]
    text = "\n".join(part.rstrip("\n") for part in parts if part) + "\n"
    return _plain(text, folder, rounded)


def _files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def ran(words: list[str], folder: Path) -> Ended:
    """A command line, typed in a folder."""
    out = _paper()
    err = _paper()
    with _alone(folder), redirect_stdout(out), redirect_stderr(err):
        try:
            code: int | str | None = PROGRAMS[words[0]](words[1:])
        except SystemExit as left:
            code = left.code
    return Ended(code, _text(out), _text(err))


def _paper() -> io.TextIOWrapper:
    """Standard output as a file has it: bytes go through, and line ends stay as they are."""
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="", write_through=True)


def _text(paper: io.TextIOWrapper) -> str:
    paper.seek(0)
    return paper.read()


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """As in a process of its own: its folder, its environment, its logging, its signals."""
    root = logging.getLogger()
    handlers = root.handlers[:]
    level = root.level
    kept = {key: value for key, value in os.environ.items() if not key.startswith("FSIR_")}
    signals = {which: signal.getsignal(which) for which in (signal.SIGINT, signal.SIGTERM)}
    root.handlers.clear()
    try:
        with patch.dict(os.environ, kept | _TERMINAL | _NO_STATE, clear=True), chdir(folder):
            yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        for which, handler in signals.items():
            signal.signal(which, handler)
        gc.unfreeze()  # a daemon keeps what was imported out of the collector's sight


def _content(path: Path) -> str:
    if path.suffix != ".npz":
        return path.read_text(encoding="utf-8")
    with np.load(path) as arrays:
        return "\n".join(f"{name} {arrays[name].dtype} {arrays[name].tolist()}" for name in arrays)


# --- what differs between machines, times and versions of Python ----------------------------------

_LOGGED = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}")
_TIME = re.compile(r"(?<![\dT:])\d\d:\d\d:\d\d(?![+,])")
_NOW = re.compile(r'"now": "[^"]*"')
_EPOCH = re.compile(r'("(?:time|until)": )(\d+\.\d+)')
_LONG = re.compile(r"(?<![\w.])-?\d+\.\d{6,}(?:e[+-]?\d+)?")


def _plain(text: str, folder: Path, rounded: bool) -> str:
    text = text.replace(str(folder.resolve()), "<folder>").replace(str(folder), "<folder>")
    text = _NOW.sub('"now": "<time>"', text.replace("\r", "<CR>"))
    text = _EPOCH.sub(_pressed, _TIME.sub("<time>", _LOGGED.sub("<time>", text)))
    if rounded:
        text = _LONG.sub(lambda number: f"{float(number[0]):.6g}", text)
    return "".join(_cut(line) for line in text.splitlines(keepends=True))


def _cut(line: str) -> str:
    if len(line) <= _LONGEST:
        return line
    digest = hashlib.sha256(line.encode()).hexdigest()
    return f"{line[:200]} ... {len(line)} characters, SHA-256 {digest}\n"


def _pressed(found: re.Match[str]) -> str:
    """The time of a label: those of the golden federation stay, now is another time each time."""
    return found[0] if float(found[2]) < CLOCK + 86400 else f"{found[1]}<time>"


def words(text: str) -> str:
    """The words of a text, however argparse has broken its lines and quoted choices."""
    return " ".join(text.replace("'", "").split()).replace("- ", "-")


def golden(name: str) -> Path:
    """Where the transcript of a command is."""
    return COMMANDS / f"{name}.txt"
