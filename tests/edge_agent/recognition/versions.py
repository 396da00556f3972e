"""A federation that publishes version after version, and an owner who lives with them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import numpy as np

from edge_agent.agent import Agent
from edge_agent.recognition.tasks import Recognition
from edge_agent.records import Position, Record
from edge_agent.state.state import State
from fsir.wire.messages import Classifier
from tests.edge_agent.recognition.people import CENTRES, CLASSES, stream
from tests.edge_agent.world import DEVICE, data, receipt, simulated, subspace
from tests.fsir.tasks import task

P = 6  # features
TRUTH = np.linalg.qr(np.random.default_rng(4).normal(size=(P, P)))[0]  # two directions, four others
AXES = TRUTH[:, :2]
CENTROIDS = np.array([CENTRES[label] for label in CLASSES])


def task_of_versions() -> Any:
    return task(P, clip={"truncate": 20.0, "norm": 40.0})


def turned(seed: int) -> np.ndarray:
    """What turns, scales and shears the two directions."""
    return np.random.default_rng(seed).normal(size=(2, 2)) + 2.0 * np.eye(2)


def wobbled(degrees: float, seed: int) -> np.ndarray:
    """The true plane, tilted at random by this angle, with other coordinates on it."""
    rng = np.random.default_rng(seed)
    away = TRUTH[:, 2:] @ np.linalg.qr(rng.normal(size=(4, 2)))[0]
    angle = np.radians(degrees)
    return (np.cos(angle) * AXES + np.sin(angle) * away) @ turned(seed)


def published(
    of: Any, version: int, basis: np.ndarray, classifies: bool = True, error: float = 0.1
) -> tuple[str, bytes]:
    """A version with this basis; its classifier knows where classes lie in the true plane."""
    classifier = None
    if classifies:
        back = np.linalg.pinv(basis) @ AXES  # coordinates of the version, times this, are true ones
        heights = -0.5 * (CENTROIDS**2).sum(axis=1)
        centroids = CENTROIDS @ AXES.T @ basis
        classifier = Classifier(CLASSES, CENTROIDS @ back.T, heights, centroids)
    return subspace(
        of,
        of.features.names,
        basis.shape[1],
        version=version,
        basis=basis,
        classifier=classifier,
        expected_error=error,
    )


def lived(
    n: int, seed: int = 0, start: int = 0, directions: np.ndarray = AXES, shift: float = 0.0
) -> list[Record]:
    """Records whose classes lie apart in two directions and are alike in all others."""
    rng = np.random.default_rng(100 + seed)
    found = []
    for k, (z, label) in enumerate(stream(n, seed, shift)):
        noise = rng.normal(size=P)
        x = directions @ np.array(z) + noise - directions @ (directions.T @ noise)
        values = {f"x{j}": float(value) for j, value in enumerate(x)}
        found.append(Record(Position(1000 + start + k), values, label))
    return found


def unlabelled(records: list[Record]) -> list[Record]:
    return [Record(record.position, record.x, None) for record in records]


@contextlib.contextmanager
def running(
    of: Any, directory: Path | None, first: tuple[str, bytes] | None = None
) -> Iterator[tuple[Agent, Recognition, State]]:
    """An agent that serves, with recognition; nothing is saved when it ends."""
    with contextlib.closing(State(directory, DEVICE, simulated=True)) as state:
        agent = simulated(of, state=state)
        if agent.wants_records:
            agent.learn_many(*data(of, 100))
            agent.receive(*receipt(of, agent.outgoing(1.0)))
        if first is not None:
            agent.receive(*first)
        yield agent, Recognition(state, [agent]), state


def saved(state: State) -> dict[str, Any]:
    """What recognition has saved."""
    table: dict[str, Any] = msgpack.unpackb(state.recognition("test"))
    return table


def right(served: list[Any], records: list[Record]) -> float:
    """The share of right answers."""
    hits = [line.get("answer") == record.y for line, record in zip(served, records, strict=True)]
    return float(np.mean(hits))
