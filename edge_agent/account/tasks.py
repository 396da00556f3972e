"""How far each task is, from the state file, and what is remarkable about it."""

from __future__ import annotations

import time
from typing import Any

import msgpack

from edge_agent.account.sharing import promise_lines, sharing_entry
from edge_agent.account.words import minute
from edge_agent.exchange.inbox import read_subspace, read_task
from edge_agent.learning.looks import looks
from edge_agent.learning.looks import remarks as looks_in_words
from edge_agent.learning.phase import Phase
from edge_agent.learning.rounds import next_turn
from edge_agent.state.made import last_reports, last_round
from edge_agent.state.rows import Pin
from edge_agent.state.state import State
from fsir.privacy.plan import FINAL, report_size
from fsir.task.task import Task

Entry = dict[str, Any]  # what is told about one task


def task_entries(state: State) -> list[Entry]:
    """Every task that was accepted, and then every one that was refused."""
    accepted = [_entry(state, pin) for pin in state.pins()]
    refused = {name: reason for name, reason in state.notes().items() if state.pinned(name) is None}
    return accepted + [
        {"task": name, "phase": "refused", "reason": reason} for name, reason in refused.items()
    ]


def _entry(state: State, pin: Pin) -> Entry:
    task = read_task(pin.raw, pin.name)
    made = last_reports(state.ledger(task.digest), task.digest)
    pending = state.outbox(pin.name)
    seen = looks(state, pin, task, made)
    learned = state.progress(pin.name).learned
    saved = {} if learned is None else msgpack.unpackb(learned)
    records = saved.get("n", state.kept_count(pin.name))
    phase = Phase.of(
        made,
        done=FINAL in made and next_turn(task, made, time.time()) is None,
        active=pin.active is not None,
        full=records >= report_size(task),
        pending=len(pending),
        stopped=pin.stopped,
        held="" if seen["released"] else seen["held"],
    )
    learning = phase in (Phase.LEARNING, Phase.HELD)
    refusals = [
        f"{row.title} {row.verdict}: {row.reason}"
        for row in made.values()
        if row.verdict == "refused"
    ]
    return {
        "task": pin.name,
        "digest": task.digest.hex(),
        "phase": phase.value,
        "source": pin.source,
        "records": records if learning else 0,
        "of": report_size(task) if learning else 0,
        **({"round": last_round(made), "rounds": task.rounds} if task.rounds > 1 else {}),
        **seen,
        "reports": {stage: row.verdict or "sent" for stage, row in made.items()},
        "pending": len(pending),
        **sharing_entry(state, task),
        "active": None if pin.active is None else list(pin.active),
        **_subspace(pin, task),
        "recognition": recognition_of(state, pin.name),
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


def recognition_of(state: State, name: str) -> dict[str, Any] | None:
    """How well the device knows what its owner does, by version of the subspace."""
    raw = state.recognition(name)
    if raw is None:
        return None
    table = msgpack.unpackb(raw)
    return {**table["now"], "past": table["past"]}


# --- in words -------------------------------------------------------------------------------------


def remarks(entry: Entry) -> list[str]:
    """What is remarkable about a task, one sentence each."""
    refused = entry.get("refused", {})
    found = looks_in_words(entry)
    if entry.get("rounds"):
        found.append(_rounds(entry))
    found += [f"the report in the outbox is {words}" for words in entry.get("awaited", ())]
    found += promise_lines(entry.get("promises", []))
    found += [f"{count} records not accepted: {reason}" for reason, count in refused.items()]
    if (accuracy := entry.get("expected_accuracy")) is not None:
        found.append(f"the federation expects its classifier to be right {accuracy:.0%} of times")
    found += [f"the federation says: {note}" for note in entry.get("notes", ())]
    recognition = entry.get("recognition")
    if recognition is not None:
        found += _accuracy(recognition)
        found += _drift(recognition["drift"])
    return found


def _rounds(entry: Entry) -> str:
    if not entry["round"]:
        return f"none of {entry['rounds']} rounds was made yet"
    return f"round {entry['round']} of {entry['rounds']} is the last that was made"


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
