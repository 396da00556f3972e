"""What a state directory says to the program that opens it, as plain values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edge_agent.agent import Agent
from edge_agent.labels.tail import Tail
from edge_agent.recognition.tasks import Recognition
from edge_agent.records import Position
from edge_agent.state.state import State
from tests.golden.federation.device import Clock, agent_of, readings_of
from tests.golden.federation.tasks import CLOCK
from tests.golden.files import ADDED

SERVED_ROWS = 6  # records whose served form is golden


def summary(directory: Path) -> dict[str, Any]:
    """Phases, positions, ledger, outbox, notes and labels."""
    state = State(directory, None)
    agents = [agent_of(state, pin.name, Clock()) for pin in state.pins()]
    about = {
        "device": state.device,
        "simulated": state.simulated,
        "notes": state.notes(),
        "tasks": {agent.name: _task(state, agent) for agent in agents},
        "ledger": [_as_first(_plain(row._asdict())) for row in state.ledger()],
        "outbox": [_plain(row._asdict()) for row in state.outbox()],
        "labels": _labels(directory),
    }
    state.close()
    return about


def _as_first(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the ledger without what version 1 does not have, where that has its default."""
    newer = ADDED["ledger"]
    return {name: value for name, value in row.items() if value != newer.get(name, row)}


def _task(state: State, agent: Agent) -> dict[str, Any]:
    pin = state.pinned(agent.name)
    assert pin is not None
    progress = state.progress(agent.name)
    return {
        "phase": agent.phase.value,
        "subscriptions": agent.subscriptions(),
        "reason": agent.reason,
        "n": agent.n,
        "refused": dict(agent.refused),
        "pending": agent.pending,
        "wants_records": agent.wants_records,
        "serving": agent.serving,
        "active": _listed(agent.active),
        "source": pin.source,
        "position": _place(progress.position),
        "recognised": _place(state.recognised(agent.name, pin.source)),
        "first": progress.first,
        "last": progress.last,
        "kept": state.kept_count(agent.name),
    }


def _listed(names: tuple[str, ...] | None) -> list[str] | None:
    return None if names is None else list(names)


def _place(position: Position) -> list[Any]:
    return [position.ordinal, position.cursor]


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value.hex() if isinstance(value, bytes) else value for key, value in row.items()}


def _labels(directory: Path) -> list[str]:
    """The labels that hold over seconds of the first minutes, as the agent reads them."""
    tail = Tail(directory)
    tail.refresh()
    return [tail.timeline.over(CLOCK + k, CLOCK + k + 1.0) for k in range(0, 90, 10)]


def served(directory: Path) -> list[dict[str, Any] | None]:
    """The first records as the device serves them to its owner, plainly and with recognition."""
    state = State(directory, None)
    agents = [agent_of(state, pin.name, Clock()) for pin in state.pins()]
    recognition = Recognition(state, agents, Clock())
    found = []
    for record in readings_of(state.device, Position(-1))[:SERVED_ROWS]:
        for agent in agents:
            found += [agent.serve(record), recognition.serve(agent, record)]
    state.close()
    return found
