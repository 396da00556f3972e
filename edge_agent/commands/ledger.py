"""`fsir-agent ledger`: every release that this device ever made, and what all of them cost."""

from __future__ import annotations

import argparse
import json
import math
from contextlib import closing

from edge_agent.account.releases import release_entry, spent
from edge_agent.account.sharing import promise_lines, shared_tasks
from edge_agent.account.words import cap_of, json_number, minute
from edge_agent.commands.settings.options import add_json, add_policy, add_state
from edge_agent.commands.tables import print_table
from edge_agent.consent.policy import policy_of
from edge_agent.state.rows import LedgerRow
from edge_agent.state.state import State

_HEADS = ("time", "task", "stage", "mechanism", "mu", "n", "records", "source", "verdict")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--state and --policy."""
    add_state(parser)
    add_policy(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """List every release, and what all of them cost together."""
    state = State(args.state, None, read_only=True)
    with closing(state):
        policy = policy_of(args.policy)
        rows = state.ledger()
        promised = shared_tasks(state)
    total = spent(rows, policy.delta)
    if args.json:
        answer = {
            "device": state.device,
            "releases": [release_entry(row) for row in rows],
            "epsilon": json_number(total),
            "delta": policy.delta,
            "cap": policy.epsilon,
            **({"promises": promised} if promised else {}),
        }
        print(json.dumps(answer))
        return 0
    print_table(_HEADS, map(_line, rows))
    bounded = total < math.inf
    known = f"epsilon {total:.4g}" if bounded else "no bound: an unproven mechanism was used"
    cap = cap_of(policy, named=args.policy is not None)
    print(f"\ntogether: {known} at delta {policy.delta:g}; {cap}")
    for name, entries in promised.items():
        for line in promise_lines(entries):
            print(f"{name}: {line}")
    return 0


def _line(row: LedgerRow) -> list[str]:
    return [
        minute(row.made),
        row.task,
        f"{row.stage} {row.round}" if row.is_report and row.round > 1 else row.stage,
        row.mechanism,
        f"{row.mu:.4g}" if row.mu < math.inf else "unproven",
        str(row.n),
        f"{row.first}-{row.last}",
        row.source,
        f"{row.verdict or 'sent'} {row.reason}".strip(),
    ]
