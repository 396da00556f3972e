"""What the fork server runs: the product with short delays, and what a test does to it."""

from __future__ import annotations

import logging
import resource
import signal
import sys
import time

import aggregator.cli
import aggregator.daemon
import aggregator.mqtt.connector
import aggregator.retained
import aggregator.secure.proposing
import edge_agent.agent
import edge_agent.cli
import edge_agent.commands.run
import edge_agent.exchange.gate
import edge_agent.loop.runner
import edge_agent.mqtt.connection
from aggregator.core import Aggregator
from aggregator.daemon import Daemon
from aggregator.monitoring.http import HttpServer, pages
from aggregator.secure.core import SecureAggregator
from aggregator.secure.seat import Seat
from aggregator.store.opening import open_store
from fsir.contract import load_task
from fsir.net.backoff import Delays
from fsir.net.broker import Broker
from fsir.privacy.noise import SeededNoise
from fsir.secure.keys import read_pair
from tests.system.harness import points, safeguards
from tests.system.harness.silent import silence

NEVER = 1e9
SHORT = Delays(0.1, 0.4)
# Seconds where the product has minutes: what is tested is the order of things, not the patience.
HURRY = {
    aggregator.retained: {"REPEAT_SECONDS": 0.3},
    aggregator.secure.proposing: {"FIRST_SECONDS": 0.1, "LONGEST_SECONDS": 0.4},
    aggregator.daemon: {
        "FIRST_RETRY_SECONDS": 0.05,
        "LONGEST_RETRY_SECONDS": 0.2,
        "IDLE_SECONDS": 0.02,
    },
    aggregator.mqtt.connector: {
        "KEEPALIVE_SECONDS": 1,
        "ANSWER_SECONDS": 1.0,
        "FIRST_ANSWER_SECONDS": 1.0,
    },
    edge_agent.mqtt.connection: {
        "KEEPALIVE_SECONDS": 1,
        "WELCOME_SECONDS": 1.0,
        "Delays": lambda **_: SHORT,
    },
    edge_agent.agent: {"STORAGE_PAUSE_SECONDS": 0.2, "Delays": lambda **_: SHORT},
    edge_agent.exchange.gate: {"UNHEARD_SECONDS": 1.0},
    edge_agent.loop.runner: {"LONGEST_WAIT_SECONDS": 0.2},
}


def hurry() -> None:
    """Short delays in this process."""
    for module, changes in HURRY.items():
        for name, value in changes.items():
            assert hasattr(module, name), f"{module.__name__} has no {name} any more"
            setattr(module, name, value)


def _prepare(
    clock: float, room: int | None, kill: tuple[str, int] | None, broken: str | None
) -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    hurry()
    if clock:
        honest = time.time
        time.time = lambda: honest() + clock
    if room is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
    if kill is not None and kill[0] in points.CLASSES:
        points.arm_class(*kill)
    if broken is not None:
        safeguards.BROKEN[broken](setattr)


def serve(
    *,
    task: list[str],
    url: str,
    store: str,
    clock: float = 0.0,
    room: int | None = None,
    kill: tuple[str, int] | None = None,
    broken: str | None = None,
    ca: str | None = None,
    worker: str = "fsir-aggregator",
    share: str | None = None,
    debounce: float | None = None,
    role: str | None = None,
    key: str = "",
    seed: int | None = None,
    http: str = "",
) -> None:
    """The aggregator's daemon; with a role, one of two, whose noise a seed may make known."""
    _prepare(clock, room, kill, broken)
    countdown = points.Countdown(kill[1], points.power_cut) if kill is not None else None

    def reached(point: str) -> None:
        if countdown is not None and kill is not None and point == kill[0]:
            countdown()

    tasks = [load_task(path) for path in task]
    pause = NEVER if debounce is None else debounce
    kept = open_store(store if ":" in store else f"sqlite:{store}")
    kept.join(worker)
    if role is None:
        made = Aggregator(kept, tasks, debounce=pause)
    else:
        noise = None if seed is None else SeededNoise(seed, role)
        seat = Seat(role, read_pair(key))
        made = SecureAggregator(kept, tasks, seat, debounce=pause, noise=noise)
    daemon = Daemon(made, Broker.parse(url, ca=ca), client_id=worker, share=share, reached=reached)
    signal.signal(signal.SIGTERM, lambda *_: daemon.stop())
    if http:
        HttpServer(http, pages(daemon.metrics.shown, daemon.health))
    daemon.run()


def command(arguments: list[str], kill: tuple[str, int] | None = None) -> int:
    """`fsir-aggregator` with any other command."""
    _prepare(0.0, None, kill, None)
    return aggregator.cli.main(arguments)


def agent(
    *,
    arguments: list[str],
    clock: float = 0.0,
    room: int | None = None,
    kill: tuple[str, int] | None = None,
    broken: str | None = None,
    silent: bool = False,
) -> int:
    """`fsir-agent`; if silent, without any noise."""
    _prepare(clock, room, kill, broken)
    if silent:
        silence()
    return edge_agent.cli.main(arguments)
