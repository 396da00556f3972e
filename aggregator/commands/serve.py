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
from fsir.net.login import broker_of
from fsir.net.systemd import ready


def serve(args: argparse.Namespace) -> int:
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
        server = (
            HttpServer(args.http, pages(daemon.metrics.text, daemon.health)) if args.http else None
        )
        gc.freeze()  # what was imported stays: the collector need not look at it with every batch
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: daemon.stop())
        ready()
        try:
            daemon.run()
        finally:
            if server is not None:
                server.close()
    finally:
        store.close()
    return 0
