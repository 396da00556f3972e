"""`fsir-agent check`: what a task would take, and whether this device would take part."""

from __future__ import annotations

import argparse
import json
import math
from contextlib import closing
from pathlib import Path

from edge_agent.commands.settings.options import add_json, add_policy, default_state
from edge_agent.commands.settings.tasks import is_file, named_task
from edge_agent.consent.admission import Feed, refusals, unable
from edge_agent.consent.policy import GROUP_RECORDS, Policy, policy_of
from edge_agent.state.database import FILE
from edge_agent.state.state import State
from edge_agent.watch.cost import with_hold
from fsir.contract import load_task
from fsir.net.login import add_login, broker_of
from fsir.privacy.describe import describe
from fsir.task.task import Task

ACCEPTED = 0  # exit codes
REFUSED = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--task, where it is, and --state."""
    parser.add_argument(
        "--task",
        required=True,
        metavar="FILE|NAME",
        help="the task, a TOML file; or the name of one that this device has accepted, or that "
        "--broker has",
    )
    add_policy(parser)
    parser.add_argument(
        "--state",
        metavar="DIR",
        help="also count what this device has spent already "
        "(default: the state directory of `fsir-agent run`, if there is one)",
    )
    parser.add_argument(
        "--broker", metavar="URL", help="fetch the task of this name, and say nothing else there"
    )
    add_json(parser)
    add_login(parser, "your")


def run(args: argparse.Namespace) -> int:
    """Say what a task would take, and whether this device would take part."""
    state = _state(args.state)
    task = _task(args, state)
    policy = policy_of(args.policy)
    if state is None:
        reasons = [*policy.refusals(task), *unable(task)]
    else:
        reasons = _reasons(state, task, policy)
    if args.json:
        _print_json(task, reasons)
    else:
        _print_words(task, policy, reasons)
        if state is not None and args.state is None:
            print(f"What the device of {state} has spent already is counted.")
    return REFUSED if reasons else ACCEPTED


def _state(named: str | None) -> str | None:
    """The state directory that was named; else the usual one, if an agent has run there."""
    usual = default_state()
    return usual if named is None and (Path(usual) / FILE).is_file() else named


def _task(args: argparse.Namespace, state: str | None) -> Task:
    if is_file(args.task):
        return load_task(args.task)
    broker = None if args.broker is None else broker_of(args)
    return named_task(args.task, state, broker)


def _reasons(directory: str, task: Task, policy: Policy) -> list[str]:
    """Why this device refuses, with what it has spent and promised already."""
    with closing(State(directory, None, read_only=True)) as state:
        pin = state.pinned(task.name)
        feed = Feed() if pin is None else Feed(pin.source)
        reasons = refusals(state, task, policy, feed)
    if pin is not None and pin.raw != task.encode():
        return [f"this device has accepted another task under the name {task.name!r}", *reasons]
    return reasons


def _several(task: Task, policy: Policy) -> list[str]:
    """What the owner allows about rounds and groups of records, if that matters."""
    lines = []
    if task.rounds > 1:
        lines.append(f"Rounds: at most {policy.rounds}.")
    if (cap := policy.epsilon_for_100_records) is not None:
        lines.append(f"About any {GROUP_RECORDS} records together: at most epsilon {cap:g}.")
    return lines


def _holding(task: Task, policy: Policy) -> str:
    """Whether a report may wait for the owner, and what that tells."""
    if not policy.hold:
        return "A report is sent whatever its records are like (hold = false)."
    if (together := with_hold(task, policy)) is None:
        return (
            "A report is sent whatever its records are like: there are too few of them, or too "
            "little\nbudget, to decide that it is held without giving them away."
        )
    total = "" if together == math.inf else f": epsilon {together:.3g} in all"
    return (
        "A report about records that are plainly not what the task expects waits for the owner "
        "(hold).\nThat it does not come is seen. The decision is noisy and counts as well"
        f"{total}.\nWhat the owner does then is not covered by it."
    )


def _print_json(task: Task, reasons: list[str]) -> None:
    answer = {
        "task": task.name,
        "digest": task.digest.hex(),
        "accepted": not reasons,
        "reasons": reasons,
    }
    print(json.dumps(answer))


def _print_words(task: Task, policy: Policy, reasons: list[str]) -> None:
    print(describe(task))
    print(
        f"\nThe policy: everything together at most epsilon {policy.epsilon:g} "
        f"at delta {policy.delta:g}."
    )
    for line in _several(task, policy):
        print(line)
    print(_holding(task, policy))
    print("This device would take part." if not reasons else "This device REFUSES the task:")
    for reason in reasons:
        print(f"  - {reason}")
