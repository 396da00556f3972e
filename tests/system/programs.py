"""What the fork server runs: the product, with short delays, and with whatever a test does to it."""

from __future__ import annotations

import logging
import resource
import sys
import time
from typing import Any

import aggregator.cli
import aggregator.connection
import aggregator.daemon
import aggregator.serve
import edge_agent.agent
import edge_agent.cli
import edge_agent.connection
import edge_agent.run
import edge_agent.start
from aggregator.aggregator import Aggregator
from aggregator.daemon import Daemon
from aggregator.sqlite import open_store
from edge_agent.connection import Broker
from edge_agent.retry import Delays
from fsir.task import Task
from tests.system import points, safeguards

NEVER = 1e9


def hurry() -> None:
    """Seconds where the product has minutes: what is tested is the order of things, not the patience."""
    aggregator.daemon.FIRST_RETRY, aggregator.daemon.SLOWEST_RETRY = 0.05, 0.2
    aggregator.daemon.IDLE_SECONDS = 0.02
    aggregator.connection.KEEPALIVE = 1
    aggregator.connection.ANSWER_SECONDS = aggregator.connection.FIRST_ANSWER_SECONDS = 1.0
    edge_agent.connection.KEEPALIVE, edge_agent.connection.WELCOME = 1, 1.0
    edge_agent.agent.STORAGE_PAUSE, edge_agent.agent.SETTLE = 0.2, 0.05
    edge_agent.run.LONGEST_WAIT = 0.2
    short = Delays(0.1, 0.4)
    edge_agent.agent.Delays = edge_agent.connection.Delays = lambda **_: short  # type: ignore


def _prepare(clock: float, room: int | None, kill: tuple[str, int] | None, broken: str | None) -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    hurry()
    if clock:
        honest = time.time
        time.time = lambda: honest() + clock
    if room is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
    if kill is not None and kill[0] in (points.AGENT | points.AGGREGATOR_STORE):
        points.arm_class(*kill)
    if broken is not None:
        safeguards.BROKEN[broken](setattr)


def serve(
    task: str, url: str, store: str, clock: float = 0.0, room: int | None = None, kill: tuple[str, int] | None = None,
    broken: str | None = None, ca: str | None = None,
) -> None:  # fmt: skip
    """The aggregator's daemon."""
    _prepare(clock, room, kill, broken)
    countdown = points.Countdown(kill[1], points.power_cut) if kill is not None else None

    def reached(point: str) -> None:
        if countdown is not None and kill is not None and point == kill[0]:
            countdown()

    made = Aggregator(open_store(f"sqlite:{store}"), [Task.load(task)], debounce=NEVER)
    Daemon(made, Broker.parse(url, ca=ca), reached=reached).run()


def agent(
    arguments: list[str], clock: float = 0.0, room: int | None = None, kill: tuple[str, int] | None = None,
    broken: str | None = None,
) -> int:  # fmt: skip
    """`fsir-agent`."""
    _prepare(clock, room, kill, broken)
    return edge_agent.cli.main(arguments)


def command(arguments: list[str], **changes: Any) -> int:
    """`fsir-aggregator`."""
    _prepare(changes.get("clock", 0.0), changes.get("room"), changes.get("kill"), changes.get("broken"))
    return aggregator.cli.main(arguments)
