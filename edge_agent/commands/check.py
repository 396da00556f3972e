"""`fsir-agent check`: what a task would take, and whether this device would take part."""

from __future__ import annotations

import argparse
import json
from contextlib import closing

from edge_agent.commands.options import add_json, add_policy
from edge_agent.consent.admission import Feed, refusals
from edge_agent.consent.policy import Policy, policy_of
from edge_agent.state.state import State
from fsir.contract import load_task
from fsir.privacy.describe import describe
from fsir.task.task import Task

ACCEPTED = 0  # exit codes
REFUSED = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--task and --state."""
    parser.add_argument("--task", required=True, metavar="FILE", help="the task, a TOML file")
    add_policy(parser)
    parser.add_argument(
        "--state", metavar="DIR", help="also count what this device has spent already"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Say what a task would take, and whether this device would take part."""
    task = load_task(args.task)
    policy = policy_of(args.policy)
    reasons = policy.refusals(task) if args.state is None else _reasons(args.state, task, policy)
    if args.json:
        _print_json(task, reasons)
    else:
        _print_words(task, policy, reasons)
    return REFUSED if reasons else ACCEPTED


def _reasons(directory: str, task: Task, policy: Policy) -> list[str]:
    """Why this device refuses, with what it has spent and promised already."""
    with closing(State(directory, None, read_only=True)) as state:
        pin = state.pinned(task.name)
        feed = Feed() if pin is None else Feed(pin.source)
        reasons = refusals(state, task, policy, feed)
    if pin is not None and pin.raw != task.encode():
        return [f"this device has accepted another task under the name {task.name!r}", *reasons]
    return reasons


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
    print("This device would take part." if not reasons else "This device REFUSES the task:")
    for reason in reasons:
        print(f"  - {reason}")
