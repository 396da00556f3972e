"""States in memory, of both kinds: whatever holds for one must hold for the other."""

from __future__ import annotations

import itertools

import pytest

from edge_agent.state.database import Storage
from edge_agent.state.schema import Owner, owner_of
from edge_agent.state.tables import memory


@pytest.fixture(params=["memory", "file"])
def either_state(request, tmp_path, monkeypatch):
    """What a state without a directory is made of: tables in memory, or those of a file."""
    numbers = itertools.count()

    def file() -> Storage:
        storage = Storage(tmp_path / f"state-{next(numbers)}")
        storage.run("PRAGMA synchronous = OFF")  # nobody cuts the power here
        owner_of(storage, Owner("anybody", True), False)
        return storage

    if request.param == "file":
        monkeypatch.setattr(memory, "Memory", file)
