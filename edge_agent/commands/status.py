"""`fsir-agent status`: how far each task is."""

from __future__ import annotations

import argparse
import json
from contextlib import closing

from edge_agent.account.releases import spent
from edge_agent.account.tasks import Entry, remarks, task_entries
from edge_agent.account.words import cap_of, json_number
from edge_agent.commands.settings.options import add_json, add_policy, add_state
from edge_agent.commands.tables import print_table
from edge_agent.consent.policy import policy_of
from edge_agent.state.state import State


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--state and --policy."""
    add_state(parser)
    add_policy(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Say how far each task is."""
    state = State(args.state, None, read_only=True)
    with closing(state):
        tasks = task_entries(state)
        policy = policy_of(args.policy)
        epsilon = spent(state.ledger(), policy.delta)
    if args.json:
        answer = {
            "device": state.device,
            "epsilon_spent": json_number(epsilon),
            "delta": policy.delta,
            "tasks": tasks,
        }
        print(json.dumps(answer))
        return 0
    cap = cap_of(policy, named=args.policy is not None)
    print(f"device {state.device}: epsilon {epsilon:.4g} spent, at delta {policy.delta:g}; {cap}")
    print_table(["task", "phase", "records", "subspace", "remark"], map(_line, tasks))
    for entry in tasks:
        for remark in remarks(entry):
            print(f"{entry['task']}: {remark}")
    return 0


def _line(entry: Entry) -> list[str]:
    return [
        entry["task"],
        entry["phase"],
        f"{entry['records']} of {entry['of']}" if entry.get("of") else "",
        entry.get("subspace") or "",
        entry.get("reason", ""),
    ]
