"""A store with one task."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from aggregator.store.sqlite import SqliteStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    made = SqliteStore(tmp_path / "s.db")
    made.add_task(b"t" * 32, "test", 1, b"body", 1.0)
    yield made
    made.close()
