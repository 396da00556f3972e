"""`fsir-aggregator serve`: puts store, aggregator, daemon and pages together."""

from __future__ import annotations

import argparse
import gc
import signal

from aggregator.core import Aggregator
from aggregator.daemon import Daemon
from aggregator.monitoring import logs
from aggregator.monitoring.http import HttpServer, pages
from aggregator.store.sqlite import open_store
from fsir.contract import load_task
from fsir.errors import FsirError
from fsir.net.login import add_login, broker_of
from fsir.net.systemd import ready

PAGE = {
    "description": """\
Publish the tasks, take reports, publish the active set and the subspace, until stopped (Ctrl-C or \
SIGTERM finish the
batch first). May be killed at any moment: everything counted is in the store, and everything else \
comes again.

A report is written to the store before the broker is told that it has arrived, and only then does \
its device get a
receipt. Start it again with the same --store and it continues. Several may share one store on the \
same machine: give
each its own --worker, and all the same --share, so that the broker deals the reports out.

example:
  fsir-aggregator serve --task task.toml --broker mqtts://broker.example --ca ca.pem \\
      --store sqlite:/var/lib/fsir/reports.db --http 127.0.0.1:9100 --log json
"""
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What to serve, the login, and the manner."""
    _add_what(parser.add_argument_group("what to serve"))
    add_login(parser, "the aggregator's")
    manner = parser.add_argument_group("manner")
    _add_manner(manner)
    _add_logging(manner)


def _add_what(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--task",
        required=True,
        action="append",
        metavar="FILE",
        help="TOML; may be given more than once",
    )
    group.add_argument(
        "--broker",
        required=True,
        metavar="URL",
        help="mqtt://HOST[:PORT], or mqtts:// with encryption",
    )
    group.add_argument(
        "--store", required=True, metavar="sqlite:PATH", help="created if it does not exist"
    )


def _add_manner(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--http", metavar="HOST:PORT", help="serve /metrics (Prometheus) and /healthz there"
    )
    group.add_argument(
        "--debounce",
        type=float,
        default=2.0,
        metavar="SECONDS",
        help="re-estimate at most so often (default %(default)s)",
    )
    group.add_argument(
        "--mqtt",
        choices=("auto", "5", "3.1.1"),
        default="auto",
        help="version (default %(default)s)",
    )
    group.add_argument(
        "--worker",
        default="fsir-aggregator",
        metavar="NAME",
        help="MQTT client id; another one for each worker (default %(default)s)",
    )
    group.add_argument(
        "--share", metavar="GROUP", help="take part in a shared subscription with other workers"
    )


def _add_logging(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--log", choices=("text", "json"), default="text", help="default: %(default)s"
    )
    group.add_argument("--log-level", default="info", choices=("debug", "info", "warning", "error"))


def run(args: argparse.Namespace) -> int:
    """Run until SIGINT or SIGTERM."""
    logs.set_up(args.log, args.log_level)
    tasks = [load_task(path) for path in args.task]
    broker = broker_of(args)
    if args.debounce < 0:
        raise FsirError(f"--debounce {args.debounce}: must be at least 0 seconds")
    store = open_store(args.store)
    try:
        aggregator = Aggregator(store, tasks, debounce=args.debounce)
        version = None if args.mqtt == "auto" else args.mqtt
        daemon = Daemon(
            aggregator, broker, client_id=args.worker, share=args.share, version=version
        )
        _run(daemon, args.http)
    finally:
        store.close()
    return 0


def _run(daemon: Daemon, address: str | None) -> None:
    """The daemon, beside it its pages, until a signal stops it."""
    shown = pages(daemon.metrics.text, daemon.health)
    server = HttpServer(address, shown) if address else None
    gc.freeze()  # what was imported stays: the collector need not look at it with every batch
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: daemon.stop())
    ready()
    try:
        daemon.run()
    finally:
        if server is not None:
            server.close()
