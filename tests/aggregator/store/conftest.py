"""A store with one task, in each engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aggregator.store.base import Store
from aggregator.store.opening import open_store

ENGINES = ("sqlite", "postgresql")
Again = Callable[[], Store]


@pytest.fixture(params=ENGINES)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of a store that is not there yet."""
    if request.param == "sqlite":
        return f"sqlite:{tmp_path / 's.db'}"
    return str(request.getfixturevalue("postgres").fresh())


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    made = open_store(address)
    made.add_task(b"t" * 32, "test", 1, b"body", 1.0)
    yield made
    made.close()
