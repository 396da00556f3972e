"""Writes the golden files: run `python -m tests.golden.make` where a change of them is meant.

What is golden was written by version 0.1. Devices in the field and stores on disks hold such bytes:
a program that no longer reads or makes them needs more than new golden files. With `--commands`
only the transcripts of command lines are written.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import tomli_w

from tests.golden import readings
from tests.golden.command_lines import HELP, ROUNDED, TYPED
from tests.golden.command_runs import golden, transcript
from tests.golden.federation.play import Play
from tests.golden.federation.states import served, summary
from tests.golden.federation.stores import GONE, RECEIPTS, WITHDRAWN, receipts, without
from tests.golden.federation.tasks import ALL, SERVED
from tests.golden.files import (
    COMMANDS,
    LABELS,
    MOMENTS,
    READINGS,
    STATE_FILE,
    STATES,
    STORE,
    STORE_FILE,
    TASKS,
    WIRE,
    copy_store,
    dump,
    write_messages,
)
from tests.golden.mistakes import PROGRAMS, answer, names_of, write_answers


def main() -> None:
    """Write all golden files, or those of the commands."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commands", action="store_true", help="only what commands print")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if not options.commands:
            _write_messages(Path(folder))
            _write_disks(Path(folder))
        _write_commands(Path(folder) / "commands")


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _write_messages(folder: Path) -> None:
    readings.write(_emptied(READINGS))
    _emptied(TASKS)
    for task in ALL:
        (TASKS / f"{task.name}.msgpack").write_bytes(task.encode())
        (TASKS / f"{task.name}.toml").write_text(tomli_w.dumps(task.table()), encoding="utf-8")
    wire = Play(folder / "play").run()
    _emptied(WIRE)
    for task in SERVED:
        mine = [message for message in wire if message.task == task.name]
        write_messages(WIRE / f"{task.name}.txt", mine)


def _write_disks(folder: Path) -> None:
    for moment in MOMENTS:
        made = folder / "play" / "states" / moment
        to = STATES / moment
        _replace(made / STATE_FILE, to / STATE_FILE)
        if (made / LABELS).exists():
            shutil.copyfile(made / LABELS, to / LABELS)
        _write_json(STATES / f"{moment}.json", summary(made))
    _write_json(STATES / "served.json", served(folder / "play" / "states" / MOMENTS[-1]))
    _replace(folder / "play" / STORE_FILE, STORE / STORE_FILE)
    write_messages(STORE / RECEIPTS, receipts(copy_store(folder / "receipts.db")))
    write_messages(STORE / WITHDRAWN, without(copy_store(folder / "withdrawn.db"), GONE))


def _replace(made: Path, golden_file: Path) -> None:
    """A database with the same content stays as it is, to the byte."""
    golden_file.parent.mkdir(parents=True, exist_ok=True)
    if not golden_file.exists() or dump(golden_file) != dump(made):
        shutil.copyfile(made, golden_file)


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def _write_commands(folder: Path) -> None:
    _emptied(COMMANDS)
    for name, line in (TYPED | HELP).items():
        place = _emptied(folder)
        golden(name).write_text(transcript(line, place, rounded=name in ROUNDED), encoding="utf-8")
    for program in PROGRAMS:
        answers = {name: answer(program, name, _emptied(folder)) for name in names_of(program)}
        write_answers(program, answers)


if __name__ == "__main__":
    main()
