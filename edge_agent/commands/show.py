"""`fsir-agent check`, `status`, `ledger`, `forget`: for people in words and tables, for programs in JSON."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgpack

from edge_agent.consent.admission import Feed, cost_of, refusals
from edge_agent.consent.budget import total_epsilon
from edge_agent.consent.policy import Policy
from edge_agent.errors import StateError
from edge_agent.exchange.inbox import read_subspace, read_task
from edge_agent.labels import file as label_file
from edge_agent.learning.phase import Phase
from edge_agent.state.rows import LedgerRow, Pin
from edge_agent.state.state import State
from fsir.contract import load_task
from fsir.privacy.describe import describe
from fsir.privacy.plan import report_size

ACCEPTED, REFUSED = 0, 1


def check(args: argparse.Namespace) -> int:
    """Say what a task would take, and whether this device would take part."""
    task, policy = load_task(args.task), _policy(args)
    if args.state is None:
        reasons = policy.refusals(task)
    else:
        state = State(args.state, None, read_only=True)
        pin = state.pinned(task.name)
        feed = Feed() if pin is None else Feed(pin.source)
        reasons = refusals(state, task, policy, feed)
        if pin is not None and pin.raw != task.encode():
            reasons = [
                f"this device has accepted another task under the name {task.name!r}",
                *reasons,
            ]
        state.close()
    if args.json:
        print(
            json.dumps(
                {
                    "task": task.name,
                    "digest": task.digest.hex(),
                    "accepted": not reasons,
                    "reasons": reasons,
                }
            )
        )
    else:
        print(describe(task))
        print(
            f"\nThe policy: everything together at most epsilon {policy.epsilon:g} at delta {policy.delta:g}."
        )
        print("This device would take part." if not reasons else "This device REFUSES the task:")
        for reason in reasons:
            print(f"  - {reason}")
    return REFUSED if reasons else ACCEPTED


def status(args: argparse.Namespace) -> int:
    """Say how far each task is."""
    state = State(args.state, None, read_only=True)
    tasks = [_task_status(state, pin) for pin in state.pins()]
    refused = {name: reason for name, reason in state.notes().items() if state.pinned(name) is None}
    tasks += [
        {"task": name, "phase": "refused", "reason": reason} for name, reason in refused.items()
    ]
    policy = _policy(args)
    spent = total_epsilon([cost_of(row) for row in state.ledger()], policy.delta)
    state.close()
    if args.json:
        whole = {
            "device": state.device,
            "epsilon_spent": _number(spent),
            "delta": policy.delta,
            "tasks": tasks,
        }
        print(json.dumps(whole))
        return 0
    print(
        f"device {state.device}: epsilon {spent:.4g} spent, at delta {policy.delta:g}; {_cap(args, policy)}"
    )
    rows = [
        [found["task"], found["phase"], f"{found['records']} of {found['of']}" if found.get("of") else "",
         found.get("subspace") or "", found.get("reason", "")]
        for found in tasks
    ]  # fmt: skip
    _table(["task", "phase", "records", "subspace", "remark"], rows)
    for found in tasks:
        for reason, count in found.get("refused", {}).items():
            print(f"{found['task']}: {count} records not accepted: {reason}")
        for line in _recognition_lines(found.get("recognition")):
            print(f"{found['task']}: {line}")
    return 0


def _task_status(state: State, pin: Pin) -> dict[str, Any]:
    task = read_task(pin.raw, pin.name)
    made = {row.stage: row for row in state.ledger(task.digest)}
    pending = state.outbox(pin.name)
    phase = Phase.of(made, pin.active is not None, len(pending), pin.stopped)
    learned = state.progress(pin.name).learned
    saved = {} if learned is None else msgpack.unpackb(learned)
    records, refused = saved.get("n", state.kept_count(pin.name)), saved.get("refused", {})
    remarks = [
        f"{row.stage} report {row.verdict}: {row.reason}"
        for row in made.values()
        if row.verdict == "refused"
    ]
    subspace = None if pin.subspace is None else read_subspace(pin.subspace, task, pin.active)
    return {
        "task": pin.name, "digest": task.digest.hex(), "phase": phase.value, "source": pin.source,
        "records": records if phase == Phase.LEARNING else 0, "of": report_size(task) if phase == Phase.LEARNING else 0,
        "refused": refused, "reports": {stage: row.verdict or "sent" for stage, row in made.items()},
        "pending": len(pending), "active": None if pin.active is None else list(pin.active),
        "subspace": "" if subspace is None else f"version {subspace.version}, {subspace.dimension} directions",
        "recognition": _recognition(state, pin.name),
        "reason": "; ".join([*([pin.stopped] if pin.stopped else []), *remarks]),
    }  # fmt: skip


def _recognition(state: State, name: str) -> dict[str, Any] | None:
    """How well the device knows what its owner does, under this version of the subspace and earlier ones."""
    raw = state.recognition(name)
    if raw is None:
        return None
    table = msgpack.unpackb(raw)
    return {**table["now"], "past": table["past"]}


def _recognition_lines(found: dict[str, Any] | None) -> list[str]:
    if found is None:
        return []
    lines, recent = [], found["recent"]
    if found["labelled"]:
        now, late = found["accuracy"], recent["accuracy"]
        federation = "none" if now["federation"] is None else f"{now['federation']:.3f}"
        lines.append(
            f"{found['labelled']} labelled records recognised, {now['said']:.3f} right (of the last "
            f"{recent['labelled']}: {late['said']:.3f}); the device's own classifier {now['device']:.3f}, the "
            f"federation's {federation}, always the commonest {now['majority']:.3f}"
        )
    if found["drift"] is not None:
        when = datetime.fromtimestamp(found["drift"]["time"], UTC).strftime("%Y-%m-%d %H:%M")
        lines.append(
            f"the subspace no longer fits this device since {when} UTC, record {found['drift']['record']}: "
            f"{found['drift']['meaning']}"
        )
    return lines


def ledger(args: argparse.Namespace) -> int:
    """List every release, and what all of them cost together."""
    state, policy = State(args.state, None, read_only=True), _policy(args)
    rows = state.ledger()
    state.close()
    total = total_epsilon([cost_of(row) for row in rows], policy.delta)
    if args.json:
        listed = [{**row.__dict__, "digest": row.digest.hex(), "report": row.report.hex(), "mu": _number(row.mu)}
                  for row in rows]  # fmt: skip
        print(json.dumps({"device": state.device, "releases": listed, "epsilon": _number(total), "delta": policy.delta,
                          "cap": policy.epsilon}))  # fmt: skip
        return 0
    _table(
        ["time", "task", "stage", "mechanism", "mu", "n", "records", "source", "verdict"],
        map(_ledger_line, rows),
    )
    known = (
        f"epsilon {total:.4g}" if total < math.inf else "no bound: an unproven mechanism was used"
    )
    print(f"\ntogether: {known} at delta {policy.delta:g}; {_cap(args, policy)}")
    return 0


def _ledger_line(row: LedgerRow) -> list[str]:
    made = datetime.fromtimestamp(row.made, UTC).strftime("%Y-%m-%d %H:%M")
    mu = f"{row.mu:.4g}" if row.mu < math.inf else "unproven"
    verdict = f"{row.verdict or 'sent'} {row.reason}".strip()
    return [
        made,
        row.task,
        row.stage,
        row.mechanism,
        mu,
        str(row.n),
        f"{row.first}-{row.last}",
        row.source,
        verdict,
    ]


def forget(args: argparse.Namespace) -> int:
    """Delete what was learned and not reported, recognition and, unless one task is named, labels included."""
    state = State(args.state, None)
    try:
        names = [pin.name for pin in state.pins()] if args.task is None else [args.task]
        for name in names:
            if state.pinned(name) is None:
                raise StateError(f"there is no task {name!r} in this state")
            state.forget(name, unpin=args.unpin)
        if args.task is None:
            label_file.forget(Path(args.state))
    finally:
        state.close()
    if args.json:
        print(json.dumps({"device": state.device, "forgotten": names}))
    else:
        print(f"forgotten: what was learned for {', '.join(names) or 'no task'}. The ledger stays.")
    return 0


def _policy(args: argparse.Namespace) -> Policy:
    return Policy() if args.policy is None else Policy.load(args.policy)


def _cap(args: argparse.Namespace, policy: Policy) -> str:
    """The cap; the state does not hold it, and the agent may run under another one than whoever asks has named."""
    if args.policy is None:
        return f"the default cap is {policy.epsilon:g} (--policy FILE for your own)"
    return f"the owner's cap is {policy.epsilon:g}"


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None  # JSON has no infinity


def _table(heads: Sequence[str], rows: Any) -> None:
    lines = [list(heads), *rows]
    widths = [max(len(line[k]) for line in lines) for k in range(len(heads))]
    for line in lines:
        print(
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        )
