"""Fixtures of the fault tests."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

import edge_agent.agent
import edge_agent.exchange.gate
import edge_agent.mqtt.connection
from tests.needs import need
from tests.system.harness.forkserver import ForkServer


@pytest.fixture(scope="session")
def forkserver() -> Iterator[ForkServer]:
    """Starts processes of the product in milliseconds."""
    need("mosquitto")
    server = ForkServer()
    yield server
    server.close()


@pytest.fixture
def short_delays(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For agents inside of the test; for a child, see `tests.system.harness.programs`."""
    monkeypatch.setattr(edge_agent.mqtt.connection, "KEEPALIVE_SECONDS", 1)
    monkeypatch.setattr(edge_agent.mqtt.connection, "WELCOME_SECONDS", 1.0)
    monkeypatch.setattr(edge_agent.agent, "STORAGE_PAUSE_SECONDS", 0.1)
    monkeypatch.setattr(edge_agent.exchange.gate, "UNHEARD_SECONDS", 0.5)
    logging.disable(logging.CRITICAL)  # a fault schedule is one long list of complaints
    yield
    logging.disable(logging.NOTSET)
