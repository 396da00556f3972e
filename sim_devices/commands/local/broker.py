"""`fsir-sim broker`: a broker to try things with, until Ctrl-C."""

from __future__ import annotations

import argparse
import signal

from sim_devices.network.broker import LocalBroker

PAGE = {
    "description": "An MQTT broker on this machine until Ctrl-C, for trying agents and aggregator "
    "by hand: loopback only, everybody may do everything, nothing is kept. A federation of real "
    "devices needs accounts, access lists and TLS: see docs/operations.md."
}
PORT = 1883


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument(
        "--port", type=_port, default=PORT, help="to listen on, 127.0.0.1 (default %(default)s)"
    )
    parser.add_argument(
        "--broker",
        choices=("auto", "embedded", "mosquitto"),
        default="auto",
        help="auto: mosquitto if installed, else embedded (default %(default)s)",
    )


def run(options: argparse.Namespace) -> int:
    """Start it, say where it is, and wait."""
    with LocalBroker() as broker:
        url = broker.start(options.broker, options.port)
        ends = {signal.SIGINT, signal.SIGTERM}
        signal.pthread_sigmask(signal.SIG_BLOCK, ends)  # not before: the broker would inherit it
        print(f"{broker.kind} at {url}; Ctrl-C ends it", flush=True)
        signal.sigwait(ends)
    return 0


def _port(text: str) -> int:
    """
    >>> _port("1883")
    1883
    """
    if not text.isdigit() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: give a number from 1 to 65535")
    return int(text)
