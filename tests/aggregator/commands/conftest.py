"""A store and a public sample for the commands."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from aggregator.core import Aggregator
from aggregator.store.sqlite import SqliteStore
from tests.aggregator.commands.lines import OTHER, TASK
from tests.aggregator.federations import report, topic

NOW = 1.7e9


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A store with a finished task and one that screens, some refusals and a withdrawal."""
    made = Aggregator(SqliteStore(tmp_path / "s.db"), [TASK, OTHER])
    made.start(NOW)
    for i in range(5):
        made.take(topic(TASK, f"d{i}"), report(TASK, f"d{i}", i))
    for i in range(3):
        made.take(topic(OTHER, f"e{i}"), report(OTHER, f"e{i}", i))
    made.take(topic(TASK, "d9"), b"garbage")
    made.commit(NOW)
    made.withdraw("d4", NOW)
    made.estimate(NOW)
    made.store.close()
    return f"sqlite:{tmp_path / 's.db'}"


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """A public sample: five measured columns, one word, one number to explain."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5)) * [1, 2, 3, 4, 0.0] + [0, 10, 20, 30, 7]
    path = tmp_path / "public sample.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "c", "d", "same", "label", "number", "level"])
        for i, row in enumerate(X):
            label = "walk" if row[0] > 0 else "sit"
            writer.writerow([*row.round(4), label, round(row[1] + row[2], 3), i % 3])
    return path
