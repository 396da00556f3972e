"""`fsir-agent try`: a dry run. It says what is wrong before the one report is spent."""

from __future__ import annotations

import argparse
import json
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from edge_agent.commands.settings.options import add_json, add_policy, add_state
from edge_agent.commands.settings.run_options import add_source, check_source, own_broker
from edge_agent.commands.settings.tasks import is_file, named_task
from edge_agent.consent.admission import Feed, refusals
from edge_agent.consent.policy import policy_of
from edge_agent.errors import SourceError
from edge_agent.loop.reading import some_records
from edge_agent.sources import open_source
from edge_agent.sources.base import Options, Source
from edge_agent.sources.paced import seconds_of
from edge_agent.state.database import FILE
from edge_agent.state.state import State
from edge_agent.watch.trial import prospect
from edge_agent.watch.trial.account import Account, account
from edge_agent.watch.trial.problems import Place
from edge_agent.watch.trial.seen import Seen
from edge_agent.watch.trial.words import lines, verdict
from fsir.contract import load_task
from fsir.net.login import add_login, broker_of
from fsir.task.task import Task

RIGHT = 0  # exit codes
WRONG = 1
RECORDS = 200
WAIT_SECONDS = 60.0
PAGE: dict[str, Any] = {
    "description": """\
Look at some records of a source as a task would see them, before the one report is spent. \
Nothing is sent, spent or
kept, and nothing is used up: a file is read from its beginning, and the state of a running agent \
is not touched. Only what came
through a pipe (jsonl:-) is gone once it was looked at.

  fsir-agent try --task task.toml --source csv:readings.csv
  fsir-agent try --task activity --broker mqtts://broker.example --ca ca.pem --source iio:mpu6050

It says which columns are there, why records cannot be used and where, which values are not what \
the task expects (units,
stuck or exchanged columns), whether labels fit, when the report would be due and what it would \
give away.
""",
    "epilog": """\
exit codes:
  0   looks right
  1   there are problems: the last lines say which, and what to do
  2   a mistake in the settings: the last line says which
""",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The task, where it is, the source, and how much of it."""
    need = parser.add_argument_group("what to try")
    need.add_argument(
        "--task",
        required=True,
        metavar="FILE|NAME",
        help="the task, a TOML file; or the name of one that this device has accepted, or that "
        "--broker has",
    )
    need.add_argument(
        "--source", required=True, metavar="SOURCE", help="as for `fsir-agent run`, see there"
    )
    need.add_argument(
        "--records",
        type=int,
        default=RECORDS,
        metavar="N",
        help="look at so many (default %(default)s)",
    )
    need.add_argument(
        "--wait",
        type=float,
        default=WAIT_SECONDS,
        metavar="SECONDS",
        help="for no longer than this (default %(default)s)",
    )
    need.add_argument("--broker", metavar="URL", help="that has the task, if it is not a file")
    add_state(need, "of an agent: its task, and what it has spent already")
    add_policy(need)
    add_login(parser, "this device's")
    add_source(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Look at some records, and say what is wrong with them."""
    if args.records < 1 or not args.wait > 0:
        raise SourceError(
            f"--records {args.records} --wait {args.wait}: give a number, and seconds, above 0"
        )
    check_source(args)
    policy = policy_of(args.policy)
    with ExitStack() as leaving:
        state = leaving.enter_context(closing(_state(args.state)))
        task = _task(args)
        source = leaving.enter_context(closing(open_source(args.source, _options(args))))
        seen = Seen(task)
        times = _look(seen, source, args)
        seen.header = getattr(source, "columns", ())  # of a table
        found = account(task, seen, _places(seen, source))
        reasons = refusals(state, task, policy, Feed.of(source))
    found = {"task": task.name, "source": source.name, **found}
    found["pace"] = prospect.pace(task, times)
    found["report"] = prospect.report(task, policy, reasons)
    found["problems"] += prospect.about_time(args.time_column, seen, times)
    found["problems"] += prospect.about_consent(task, reasons)
    found["looks_right"] = not found["problems"]
    if args.json:
        print(json.dumps(found))
    else:
        _tell(task, found)
    return RIGHT if found["looks_right"] else WRONG


# --- what to look at ------------------------------------------------------------------------------


def _state(directory: str) -> State:
    """What the device has spent; one that has not run has spent nothing."""
    if not (Path(directory) / FILE).exists():
        return State(None, "try")
    return State(directory, None, read_only=True)


def _task(args: argparse.Namespace) -> Task:
    if is_file(args.task):
        return load_task(args.task)
    broker = None if args.broker is None else broker_of(args)
    known = args.state if (Path(args.state) / FILE).exists() else None
    return named_task(args.task, known, broker)


def _options(args: argparse.Namespace) -> Options:
    broker = own_broker(args, "source")
    if broker is None and args.broker is not None:
        broker = broker_of(args)
    return Options(
        follow=args.follow,
        record_id=args.record_id,
        broker=broker,
        acc_range=args.acc_range,
        gyro_range=args.gyro_range,
    )


def _look(seen: Seen, source: Source, args: argparse.Namespace) -> list[float]:
    """Take records, and return when they were made, as far as that is known."""
    times: list[float] = []
    for record, arrived in some_records(source, args.records, args.wait):
        seen.take(record)
        made = record.span[1] if record.span else None
        if args.time_column is not None:
            made = seconds_of(record.x.get(args.time_column))
        elif made is None and not source.replayable:
            made = arrived
        if made is not None:
            times.append(made)
    return times


def _places(seen: Seen, source: Source) -> dict[int, Place]:
    """Where the examples stand, by their ordinal; of a file by its line, too."""
    path = getattr(source, "path", None)  # a file's, whose cursors begin with a byte
    examples = [refused.example.position for refused in seen.refused.values()]
    lines_of = {one.ordinal: _line(path, one.cursor[0]) for one in examples if path and one.cursor}
    return {one.ordinal: Place(one.ordinal, lines_of.get(one.ordinal)) for one in examples}


def _line(path: Path, start: int) -> int | None:
    try:
        with path.open("rb") as file:
            return file.read(start).count(b"\n") + 1
    except OSError:
        return None


def _tell(task: Task, found: Account) -> None:
    print(
        f"Task {task.name!r}, and {found['records']} records of {found['source']}. "
        "Nothing was sent, spent or kept.\n"
    )
    for line in lines(found):
        print(line)
    print(f"{'pace':<12}{prospect.pace_in_words(found['pace'])}")
    print(f"{'gives away':<12}{prospect.report_in_words(found['report'])}\n")
    for line in verdict(found["problems"]):
        print(line)
