"""`fsir-agent status`: how far each task is."""

from __future__ import annotations

import argparse
import json
from contextlib import closing
from typing import Any

import msgpack

from edge_agent.commands.options import add_json, add_policy, add_state
from edge_agent.commands.tables import cap_of, json_number, minute, print_table
from edge_agent.consent.admission import cost_of
from edge_agent.consent.budget import total_epsilon
from edge_agent.consent.policy import policy_of
from edge_agent.exchange.inbox import read_subspace, read_task
from edge_agent.learning.phase import Phase
from edge_agent.state.rows import Pin
from edge_agent.state.state import State
from fsir.privacy.plan import report_size
from fsir.task.task import Task

Entry = dict[str, Any]  # what is told about one task


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """--state and --policy."""
    add_state(parser)
    add_policy(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Say how far each task is."""
    state = State(args.state, None, read_only=True)
    with closing(state):
        tasks = _tasks(state)
        policy = policy_of(args.policy)
        spent = total_epsilon([cost_of(row) for row in state.ledger()], policy.delta)
    if args.json:
        answer = {
            "device": state.device,
            "epsilon_spent": json_number(spent),
            "delta": policy.delta,
            "tasks": tasks,
        }
        print(json.dumps(answer))
        return 0
    cap = cap_of(policy, named=args.policy is not None)
    print(f"device {state.device}: epsilon {spent:.4g} spent, at delta {policy.delta:g}; {cap}")
    print_table(["task", "phase", "records", "subspace", "remark"], map(_line, tasks))
    for entry in tasks:
        for remark in _remarks(entry):
            print(f"{entry['task']}: {remark}")
    return 0


# --- what there is to tell ------------------------------------------------------------------------


def _tasks(state: State) -> list[Entry]:
    """Every task that was accepted, and then every one that was refused."""
    accepted = [_entry(state, pin) for pin in state.pins()]
    refused = {name: reason for name, reason in state.notes().items() if state.pinned(name) is None}
    return accepted + [
        {"task": name, "phase": "refused", "reason": reason} for name, reason in refused.items()
    ]


def _entry(state: State, pin: Pin) -> Entry:
    task = read_task(pin.raw, pin.name)
    made = {row.stage: row for row in state.ledger(task.digest)}
    pending = state.outbox(pin.name)
    phase = Phase.of(made, pin.active is not None, len(pending), pin.stopped)
    learned = state.progress(pin.name).learned
    saved = {} if learned is None else msgpack.unpackb(learned)
    learning = phase == Phase.LEARNING
    refusals = [
        f"{row.stage} report {row.verdict}: {row.reason}"
        for row in made.values()
        if row.verdict == "refused"
    ]
    return {
        "task": pin.name,
        "digest": task.digest.hex(),
        "phase": phase.value,
        "source": pin.source,
        "records": saved.get("n", state.kept_count(pin.name)) if learning else 0,
        "of": report_size(task) if learning else 0,
        "refused": saved.get("refused", {}),
        "reports": {stage: row.verdict or "sent" for stage, row in made.items()},
        "pending": len(pending),
        "active": None if pin.active is None else list(pin.active),
        **_subspace(pin, task),
        "recognition": _recognition(state, pin.name),
        "reason": "; ".join([*([pin.stopped] if pin.stopped else []), *refusals]),
    }


def _subspace(pin: Pin, task: Task) -> Entry:
    if pin.subspace is None:
        return {"subspace": ""}
    subspace = read_subspace(pin.subspace, task, pin.active)
    entry: Entry = {"subspace": f"version {subspace.version}, {subspace.dimension} directions"}
    # Version 0.1 told no more, and its tasks have no more to tell.
    if task.counts_refused:
        entry["expected_accuracy"] = subspace.expected_accuracy
        entry["notes"] = list(subspace.notes)
    return entry


def _recognition(state: State, name: str) -> dict[str, Any] | None:
    """How well the device knows what its owner does, by version of the subspace."""
    raw = state.recognition(name)
    if raw is None:
        return None
    table = msgpack.unpackb(raw)
    return {**table["now"], "past": table["past"]}


# --- in words -------------------------------------------------------------------------------------


def _line(entry: Entry) -> list[str]:
    return [
        entry["task"],
        entry["phase"],
        f"{entry['records']} of {entry['of']}" if entry.get("of") else "",
        entry.get("subspace") or "",
        entry.get("reason", ""),
    ]


def _remarks(entry: Entry) -> list[str]:
    refused = entry.get("refused", {})
    remarks = [f"{count} records not accepted: {reason}" for reason, count in refused.items()]
    if (accuracy := entry.get("expected_accuracy")) is not None:
        remarks.append(f"the federation expects its classifier to be right {accuracy:.0%} of times")
    remarks += [f"the federation says: {note}" for note in entry.get("notes", ())]
    recognition = entry.get("recognition")
    if recognition is not None:
        remarks += _accuracy(recognition)
        remarks += _drift(recognition["drift"])
    return remarks


def _accuracy(recognition: dict[str, Any]) -> list[str]:
    if not recognition["labelled"]:
        return []
    rates = recognition["accuracy"]
    recent = recognition["recent"]
    federation = "none" if rates["federation"] is None else f"{rates['federation']:.3f}"
    return [
        f"{recognition['labelled']} labelled records recognised, {rates['said']:.3f} right "
        f"(of the last {recent['labelled']}: {recent['accuracy']['said']:.3f}); "
        f"the device's own classifier {rates['device']:.3f}, the federation's {federation}, "
        f"always the commonest {rates['majority']:.3f}"
    ]


def _drift(drift: dict[str, Any] | None) -> list[str]:
    if drift is None:
        return []
    return [
        f"the subspace no longer fits this device since {minute(drift['time'])} UTC, "
        f"record {drift['record']}: {drift['meaning']}"
    ]
