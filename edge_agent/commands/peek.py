"""`fsir-agent peek`: what goes over the broker, in words, for a curious owner."""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter

from paho.mqtt.client import MQTTMessage

from edge_agent.errors import SourceError
from edge_agent.exchange.words import KINDS, said
from edge_agent.mqtt.listening import Look
from fsir.errors import FsirError
from fsir.limits import DEVICE_NAME
from fsir.net.broker import Broker
from fsir.net.login import add_login, broker_of
from fsir.wire.cohort import KIND as COHORT
from fsir.wire.messages import PREFIX

PAGE = {
    "description": """\
Listen to what a federation says on its broker, and tell it in words: tasks, receipts, active set, \
subspace, and of each
report who sent it, about how many records, and how large it is. It only listens: nothing is sent, \
and nothing is stored.

With a certificate of its own each device has one connection at a time, as in deploy/mosquitto: \
peek with the
certificate of a device throws its running agent out for a moment. The broker decides what you may \
see; most brokers
let a device see the tasks, active sets and subspaces of all, its own receipts, and nothing else.

  fsir-agent peek --broker mqtts://broker.example --ca ca.pem --task activity
"""
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The broker, what to look at, and for how long."""
    parser.add_argument(
        "--broker",
        required=True,
        metavar="URL",
        help="mqtt://HOST[:PORT], or mqtts:// with encryption",
    )
    parser.add_argument("--task", metavar="NAME", help="only this task (default: all)")
    parser.add_argument(
        "--seconds",
        type=float,
        default=10.0,
        metavar="N",
        help="how long; 0 until Ctrl-C (default %(default)g)",
    )
    add_login(parser, "your")


def run(args: argparse.Namespace) -> int:
    """Tell each message as it comes, and in the end what did not come."""
    if not 0.0 <= args.seconds < math.inf:
        raise SourceError(f"--seconds {args.seconds}: give a number of seconds, 0 or more")
    if args.task is not None and not DEVICE_NAME.match(args.task):
        raise SourceError(f"--task {args.task}: give the name of one task, as in its topics")
    broker = broker_of(args)
    look = Look(broker, "peek", f"{PREFIX}/{args.task}/#" if args.task else "fsir/#")
    seen: Counter[str] = Counter()
    begun = time.monotonic()
    try:
        for message in look.messages(args.seconds or math.inf):
            seen[_told(message)] += 1
    except KeyboardInterrupt:
        print()
    if not look.reached:
        raise FsirError(f"{broker} could not be reached in {args.seconds:.0f} s")
    _sum_up(seen, time.monotonic() - begun, broker)
    return 0


def _told(message: MQTTMessage) -> str:
    """Print one message; returns its kind."""
    payload = bytes(message.payload)
    try:
        topic = message.topic
    except UnicodeDecodeError:
        topic = "a topic that is not text"
    kind, words = said(topic, payload)
    kept = ", retained" if message.retain else ""
    place = topic if topic.isprintable() else ascii(topic)
    clock = time.strftime("%H:%M:%S")
    print(f"{clock}  {place}  ({len(payload):,} bytes{kept})\n    {words}", flush=True)
    return kind


def _sum_up(seen: Counter[str], seconds: float, broker: Broker) -> None:
    kinds = ", ".join(f"{kind or 'other'} {seen[kind]}" for kind in (*KINDS, "") if seen[kind])
    print(f"{seen.total()} messages in {seconds:.0f} s at {broker}: {kinds or 'none'}")
    # What two aggregators say to each other is not for devices: nobody misses it.
    if missing := [kind for kind in KINDS if not seen[kind] and kind != COHORT]:
        print(
            f"not seen: {', '.join(missing)}. Nobody sent any meanwhile, or the broker does not "
            "let you read them: it does not say which"
        )
