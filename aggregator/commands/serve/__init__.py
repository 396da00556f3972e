"""`fsir-aggregator serve`: puts store, aggregator, daemon and pages together."""

from __future__ import annotations

import argparse
import gc
import logging
import math
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from aggregator.commands.serve.options import (
    KEY,
    ROLE,
    TOKEN_FILE,
    USER_HEADER,
    WAIT,
    add_arguments,
)
from aggregator.core import Aggregator
from aggregator.daemon import Daemon
from aggregator.monitoring import logs
from aggregator.monitoring.access import Access
from aggregator.monitoring.http import HttpServer, pages
from aggregator.mqtt.client_id import client_id
from aggregator.overview.progress import EXPECT
from aggregator.page.routes import LivePage
from aggregator.results.emission import Emission
from aggregator.store.base import Store
from aggregator.store.errors import StoreBusyError
from aggregator.store.opening import open_store
from fsir.contract import load_task
from fsir.errors import FsirError
from fsir.net.installed import require
from fsir.net.login import broker_of
from fsir.net.systemd import ready
from fsir.net.web.token import token_of
from fsir.task.secure import LEADER
from fsir.task.task import Task

__all__ = ["PAGE", "add_arguments", "run"]
log = logging.getLogger("fsir.aggregator")
LATER = 1  # the store is out of reach at the start: not what a setting mends, as status 2 is
_HEADER_NAME = re.compile(r"[A-Za-z0-9-]+\Z")

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


def run(args: argparse.Namespace) -> int:
    """Run until SIGINT or SIGTERM."""
    require("scipy")  # it is imported when a task screens, which may be in a week
    logs.set_up(args.log, args.log_level)
    try:
        return _serve(args)
    except StoreBusyError as error:
        log.error("%s; start again later: nothing is lost meanwhile", error)
        return LATER


def _serve(args: argparse.Namespace) -> int:
    tasks = [load_task(path) for path in args.task]
    broker = broker_of(args)
    _check_role(args, tasks)
    if args.debounce < 0:
        raise FsirError(f"--debounce {args.debounce}: must be at least 0 seconds")
    if args.expect is not None and args.expect < 1:
        raise FsirError(f"--expect {args.expect}: must be at least 1 device")
    store = open_store(args.store)
    try:
        with store.transaction():
            store.put_setting(EXPECT, None if args.expect is None else str(args.expect))
        own = client_id(store)  # kept from the first start on, whatever name is used today
        worker = args.worker or own
        store.join(worker)
        aggregator = _aggregator(args, store, tasks)
        version = None if args.mqtt == "auto" else args.mqtt
        daemon = Daemon(aggregator, broker, client_id=worker, share=args.share, version=version)
        _run(daemon, args)
    finally:
        store.close()
    return 0


def _check_role(args: argparse.Namespace, tasks: list[Task]) -> None:
    """A role and its key are there exactly if the tasks have two aggregators."""
    sealed = [task.name for task in tasks if task.secure is not None]
    others = [task.name for task in tasks if task.secure is None]
    if sealed and others:
        raise FsirError(
            f"task {sealed[0]!r} has two aggregators, task {others[0]!r} has one: "
            "serve them by two processes, each with its own --store"
        )
    given = [name for name in (args.role, args.role_key, args.wait) if name is not None]
    if sealed and None in (args.role, args.role_key):
        raise FsirError(
            f"task {sealed[0]!r} has two aggregators: say which one this is, by {ROLE} leader or "
            f"{ROLE} helper, and give its {KEY}"
        )
    if others and given:
        raise FsirError(
            f"{ROLE}, {KEY} and {WAIT} are for tasks with two aggregators; task {others[0]!r} has "
            "one: leave them out"
        )
    if args.wait is not None and (args.role != LEADER or not 0.0 <= args.wait < math.inf):
        raise FsirError(f"{WAIT} {args.wait:g}: give seconds, 0 or more, to the leader alone")


def _aggregator(args: argparse.Namespace, store: Store, tasks: list[Task]) -> Aggregator:
    emission = Emission.parse(args.emit)
    pause = args.debounce
    if args.role is None:
        return Aggregator(store, tasks, debounce=pause, expected=args.expect, emission=emission)
    # Only such tasks need `cryptography`.
    from aggregator.secure.core import SecureAggregator
    from aggregator.secure.seat import Seat
    from fsir.secure.keys import read_pair

    seat = Seat(args.role, read_pair(args.role_key))
    return SecureAggregator(
        store,
        tasks,
        seat,
        debounce=pause,
        expected=args.expect,
        emission=emission,
        wait=args.wait or 0.0,
    )


def _run(daemon: Daemon, args: argparse.Namespace) -> None:
    """The daemon, beside it its pages, until a signal stops it."""
    with _shown(daemon, args):
        gc.freeze()  # what was imported stays: the collector need not look at it with every batch
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: daemon.stop())
        ready()
        daemon.run()


@contextmanager
def _shown(daemon: Daemon, args: argparse.Namespace) -> Iterator[None]:
    """The pages, if they are asked for."""
    if args.http is None:
        if args.http_token_file is not None or args.http_user_header is not None:
            raise FsirError(f"{TOKEN_FILE} and {USER_HEADER} are about the pages: give --http too")
        yield
        return
    live = LivePage(daemon.overview, daemon.names)
    shown = live.pages() | pages(daemon.metrics.shown, daemon.health)
    server = HttpServer(args.http, shown, live.streams(), access=_access(args))
    log.info("a live page is at %s", server.url)
    try:
        yield
    finally:
        live.close()
        server.close()


def _access(args: argparse.Namespace) -> Callable[[bool], Access]:
    """The rules for who may look, once it is known whether only this machine can."""
    header = args.http_user_header
    if header is not None and not _HEADER_NAME.match(header):
        raise FsirError(f"{USER_HEADER} {header!r}: give a name such as X-Remote-User")
    file = args.http_token_file
    token = None if file is None else token_of(file, TOKEN_FILE)
    return lambda local: Access(token=token, user_header=header, local=local)
