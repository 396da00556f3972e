"""The command `fsir-aggregator`."""

from __future__ import annotations

import argparse
import logging
import signal
import sys

from aggregator.aggregator import Aggregator
from aggregator.connection import Address
from aggregator.daemon import Daemon
from aggregator.sqlite import open_store
from fsir.errors import FsirError
from fsir.task import Task


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the status that the shell gets."""
    parser = argparse.ArgumentParser("fsir-aggregator")
    commands = parser.add_subparsers(dest="command", required=True)
    serve = commands.add_parser("serve")
    serve.add_argument("--task", action="append", required=True)
    serve.add_argument("--broker", required=True)
    serve.add_argument("--store", required=True)
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    try:
        store = open_store(options.store)
        daemon = Daemon(Aggregator(store, [Task.load(path) for path in options.task]), Address.parse(options.broker))
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: daemon.stop())
        daemon.run()
    except FsirError as error:
        print(f"fsir-aggregator: {error}", file=sys.stderr)
        return 2
    return 0
