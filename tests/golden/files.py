"""Where the golden files are, and how they are read, copied and compared."""

from __future__ import annotations

import base64
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fsir.wire.decode import decode
from fsir.wire.messages import Subspace

HERE = Path(__file__).resolve().parent
READINGS = HERE / "readings"
TASKS = HERE / "tasks"
WIRE = HERE / "wire"
STATES = HERE / "states"
STORE = HERE / "store"
STORE_FILE = "reports.db"
COMMANDS = HERE / "commands"
MOMENTS = ("learning", "screened", "reported", "serving")  # of the life of one device
STATE_FILE = "agent.sqlite"
LABELS = "labels.jsonl"
# Columns of the state file that version 1 does not have, with their defaults.
ADDED: dict[str, dict[str, Any]] = {
    "tasks": {"stream": ""},
    "ledger": {"unit_records": 1, "round": 1},
}
_REAL = re.compile(r"(?<![\w.'])-?\d+\.\d+(?:e[+-]?\d+)?")


class Message(NamedTuple):
    """What was published on a topic."""

    topic: str
    payload: bytes

    @property
    def task(self) -> str:
        """The name of its task."""
        return self.topic.split("/")[2]

    @property
    def kind(self) -> str:
        """What it is: task, report, receipt, active, subspace or presence."""
        return self.topic.split("/")[3]


# --- messages -------------------------------------------------------------------------------------


def write_messages(path: Path, messages: Iterable[Message]) -> None:
    """One line for each message: its topic and its payload, in the order of their publication."""
    lines = [f"{about} {base64.b64encode(payload).decode()}\n" for about, payload in messages]
    path.write_text("".join(lines), encoding="utf-8")


def read_messages(path: Path) -> list[Message]:
    """The messages in such a file."""
    messages = []
    for line in path.read_text(encoding="utf-8").splitlines():
        about, _, payload = line.partition(" ")
        messages.append(Message(about, base64.b64decode(payload, validate=True)))
    return messages


def wire_of(task: str) -> list[Message]:
    """All golden messages of a task."""
    return read_messages(WIRE / f"{task}.txt")


def of_kind(messages: Iterable[Message], kind: str) -> list[Message]:
    """The messages of one kind."""
    return [message for message in messages if message.kind == kind]


# --- databases ------------------------------------------------------------------------------------


def copy_state(moment: str, to: Path) -> Path:
    """A copy of a golden state directory, which an agent may change."""
    shutil.copytree(STATES / moment, to)
    to.chmod(0o700)
    return to


def copy_store(to: Path) -> Path:
    """A copy of the golden store, which an aggregator may change."""
    shutil.copyfile(STORE / STORE_FILE, to)
    return to


@contextmanager
def _copied(path: Path) -> Iterator[sqlite3.Connection]:
    with tempfile.TemporaryDirectory() as folder:
        for found in path.parent.glob(f"{path.name}*"):  # with its log, if that is not empty
            shutil.copyfile(found, Path(folder) / found.name)
        with closing(sqlite3.connect(Path(folder) / path.name)) as db:
            yield db


def dump(path: Path) -> list[Any]:
    """The logical content of a database: version, journal, and the statements that make it anew.

    Costs are computed with logarithms, whose last bit may differ between machines: they are
    written with twelve digits.
    """
    with _copied(path) as db:
        version = db.execute("PRAGMA user_version").fetchone()
        journal = db.execute("PRAGMA journal_mode").fetchone()
        return [*version, *journal, *(_REAL.sub(_shortened, line) for line in db.iterdump())]


def _shortened(number: re.Match[str]) -> str:
    return f"{float(number[0]):.12g}"


def rows_of(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Every row of a state file, table by table, numbers with twelve digits.

    What later versions have added is left out where it has its default, and is seen where not.
    """
    with _copied(path) as db:
        db.row_factory = sqlite3.Row
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE sql > ''")]
        return {
            table: [_as_first(table, dict(row)) for row in db.execute(f"SELECT * FROM {table}")]
            for table in sorted(tables)
        }


def _as_first(table: str, row: dict[str, Any]) -> dict[str, Any]:
    newer = ADDED.get(table, {})
    return {
        name: f"{value:.12g}" if isinstance(value, float) else value
        for name, value in row.items()
        if name not in newer or value != newer[name]
    }


# --- floating point -------------------------------------------------------------------------------


def alike(found: Any, wanted: Any) -> bool:
    """Whether two plain values are the same, numbers and arrays of them up to rounding."""
    if isinstance(wanted, Mapping):
        same_keys = isinstance(found, Mapping) and found.keys() == wanted.keys()
        return same_keys and all(alike(found[key], wanted[key]) for key in wanted)
    if isinstance(wanted, bytes) and found != wanted and len(wanted) % 8 == 0:
        return len(found) == len(wanted) and close(np.frombuffer(found), np.frombuffer(wanted))
    if isinstance(wanted, Sequence) and not isinstance(wanted, str | bytes):
        pairs = zip(found, wanted, strict=False)
        return len(found) == len(wanted) and all(alike(one, other) for one, other in pairs)
    if isinstance(wanted, float):
        return close(found, wanted)
    return bool(found == wanted)


def close(found: Any, wanted: Any) -> bool:
    """Whether numbers agree as far as machines do, whose linear algebra differs in last bits."""
    if np.shape(found) != np.shape(wanted):
        return False
    return np.allclose(found, wanted, rtol=1e-9, atol=1e-12)


def same_subspace(found: bytes, wanted: bytes) -> bool:
    """Whether two messages hold the same subspace, as far as machines agree."""
    if not found or not wanted:
        return found == wanted
    return alike(_numbers(found), _numbers(wanted))


def _numbers(raw: bytes) -> dict[str, Any]:
    table = asdict(decode(raw, Subspace))
    return {key: _listed(value) for key, value in table.items()}


def _listed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _listed(entry) for key, entry in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value
