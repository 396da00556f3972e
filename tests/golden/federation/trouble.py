"""Reports that an aggregator must not count, made from good ones, each with its own fault."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgpack
import numpy as np

from fsir.task.task import Task
from fsir.wire.decode import decode
from fsir.wire.messages import Report, encode, topic
from tests.golden.federation.tasks import DENSE, PLAIN
from tests.golden.files import Message


def troubles(wire: Sequence[Message]) -> list[Message]:
    """Messages for the quarantine, and a good one that comes again."""
    good = _report(wire, PLAIN, "dev-1")
    other = _report(wire, DENSE, "dev-1")
    read = decode(good, Report)
    assert isinstance(read, Report)
    far = tuple(block + 10**6 for block in read.blocks)
    moved = tuple(block + 1 for block in read.blocks)
    later = msgpack.packb(msgpack.unpackb(good) | {"v": 2})
    sent = [
        ("dev-1", good),  # again: a duplicate
        ("dev-1", encode(replace(read, blocks=moved))),
        ("dev-6", b"\x80"),
        ("dev-6", later),
        ("dev-6", good),
        ("dev-7", encode(replace(read, device="dev-7", n=read.n + 1))),
        ("dev-7", encode(replace(read, device="dev-7", blocks=far))),
        ("dev-7", encode(replace(read, device="dev-7", blocks=read.blocks[:3]))),
        ("dev-7", encode(replace(read, device="dev-7", stage="screening"))),
        ("dev-7", encode(replace(read, device="dev-7", blocks=(), votes=np.eye(3, dtype=bool)))),
        ("dev-8", other),
    ]
    strange = Message(topic("nowhere", "report", "dev-8"), good)
    return [*(Message(topic(PLAIN.name, "report", name), raw) for name, raw in sent), strange]


def _report(wire: Sequence[Message], task: Task, device: str) -> bytes:
    about = topic(task.name, "report", device)
    return next(message.payload for message in wire if message.topic == about)
