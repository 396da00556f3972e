"""A fake phone, and trials that are short."""

from __future__ import annotations

import pytest

from edge_agent.sources.termux import command, watcher
from fsir.net.backoff import Delays
from tests.edge_agent.sources.termux.phones import Phone


@pytest.fixture
def phone(tmp_path, monkeypatch):
    monkeypatch.setattr(watcher, "TRIAL_OBJECTS", 60)
    monkeypatch.setattr(watcher, "FIRST_SECONDS", 2.0)
    monkeypatch.setattr(watcher, "SILENCE_SECONDS", 0.5)
    monkeypatch.setattr(watcher, "AGAIN", Delays(first=0.05, longest=0.1))
    monkeypatch.setattr(command, "CLEANUP_SECONDS", 1.0)
    folder = tmp_path / "phone"
    folder.mkdir()
    return Phone(folder, monkeypatch)
