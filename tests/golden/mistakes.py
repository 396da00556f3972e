"""What the programs say to each wrong table, as text to be compared."""

from __future__ import annotations

import logging
from contextlib import closing
from pathlib import Path

from edge_agent.errors import SourceError
from edge_agent.records import START
from edge_agent.sources import open_source
from edge_agent.sources.base import Options
from tests.golden.command_runs import ran
from tests.golden.files import HERE
from tests.wrong_tables import FILES, HEADERS, MISTAKES, TABLES, TEXTS, Mistake, lay

ANSWERS = HERE / "wrong_tables"
PROGRAMS = ("task-new", "agent", "sim-csv")


_TRIED = {"task-new": MISTAKES, "agent": FILES | TEXTS | HEADERS, "sim-csv": TABLES}


def names_of(program: str) -> list[str]:
    """The mistakes that are tried on a program; what an agent makes of values its task says."""
    return list(_TRIED[program])


def answer(program: str, name: str, folder: Path) -> str:
    """How a program ends on a mistake, and what it says."""
    mistake = MISTAKES[name]
    path = lay(mistake, folder)
    if program == "agent":
        said = _read(path, folder)
    else:
        said = (_new if program == "task-new" else _federate)(mistake, folder)
    return said.replace(str(folder.resolve()), "<folder>").strip()


def _new(mistake: Mistake, folder: Path) -> str:
    words = ["fsir-aggregator", "task", "new", "--sample", mistake.file]
    words += ["--response", mistake.response, *mistake.options]
    words += [] if mistake.by is None else ["--by", mistake.by]
    ended = ran(words, folder)
    return f"exit code {ended.code}\n{ended.err}"


def _federate(mistake: Mistake, folder: Path) -> str:
    words = ["fsir-sim", "csv", mistake.file, "--response", mistake.response, "--by", "who"]
    ended = ran([*words, "--fast", "--epsilon", "1", "--devices", "2", "--records", "5"], folder)
    notes = [line for line in ended.out.splitlines() if line.startswith("  note: ")]
    return "\n".join([f"exit code {ended.code}", ended.err, *notes])


def _read(path: Path, folder: Path) -> str:
    """What an agent says that learns from the table; one that cannot start says so in one line."""
    logged: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda entry: logged.append(entry.getMessage())
    log = logging.getLogger("fsir.source")
    log.addHandler(handler)
    try:
        values = _values(path)
    except SourceError as error:
        return _started(path, folder, str(error))
    finally:
        log.removeHandler(handler)
    used = sum(map(bool, values))
    return "\n".join([f"{used} of {len(values)} records have values", *logged])


def _values(path: Path) -> list[object]:
    values: list[object] = []
    with closing(open_source(f"csv:{path}", Options())) as source:
        source.resume(START)
        while not source.ended:
            values += [record.x for record in source.poll(16)]
    return values


def _started(path: Path, folder: Path, reason: str) -> str:
    """The real program, which must end with the same reason before it talks to anybody."""
    words = [
        "fsir-agent",
        "run",
        "--task",
        "t",
        "--device",
        "d",
        "--state",
        "state",
        "--broker",
        "mqtt://127.0.0.1:1",
    ]
    ended = ran([*words, "--source", f"csv:{path}"], folder)
    assert ended.err.splitlines()[-1] == f"fsir-agent: {reason}"
    return f"exit code {ended.code}\n{ended.err}"


def read_answers(program: str) -> dict[str, str]:
    """The golden answers of a program, by mistake."""
    text = (ANSWERS / f"{program}.txt").read_text(encoding="utf-8")
    parts = [part.partition("\n") for part in text.split("--- ")[1:]]
    return {name: said.strip() for name, _, said in parts}


def write_answers(program: str, answers: dict[str, str]) -> None:
    """Make these the golden ones."""
    ANSWERS.mkdir(exist_ok=True)
    text = "".join(f"--- {name}\n{said}\n\n" for name, said in answers.items())
    (ANSWERS / f"{program}.txt").write_text(text, encoding="utf-8")
