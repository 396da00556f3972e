"""Connections that tests drive by hand."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from edge_agent.mqtt.connection import Connection
from fsir.net.backoff import Delays
from fsir.net.broker import Broker

QUICK = Delays(first=0.05, longest=0.2)


def drive(connection: Connection, condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Step until the condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened in time"
        connection.step(time.monotonic())
        time.sleep(0.005)


def connect(url: str, **options: Any) -> tuple[Connection, list[bytes]]:
    """A connection that reads below `t`, and what it has read."""
    seen: list[bytes] = []
    take = options.pop("take", lambda message: seen.append(bytes(message.payload)))
    name = f"test-{os.urandom(4).hex()}"
    connection = Connection(Broker.parse(url), name, ["t/#"], take, delays=QUICK, **options)
    return connection, seen
