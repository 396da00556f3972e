"""What goes over the wire: msgpack, versioned, checked on arrival.

Topics under `fsir/1/<task>/`: `task`, `ask/<device>`, `report/<device>`, `receipt/<device>`,
`active`, `subspace`, `presence/<device>`. Whatever arrives either decodes to one of the frozen
messages below or raises `MessageError`; nothing else. Where two aggregators open sums, reports are
those of `fsir.wire.shared`, on `cohort/<role>` go those of `fsir.wire.cohort`, and the second
aggregator answers on `receipt/<device>/helper`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgpack
import numpy as np

from fsir.arrays import Flags, Integers
from fsir.limits import ID_BYTES
from fsir.privacy.plan import FINAL, SCREENING
from fsir.task.secure import HELPER
from fsir.wire.subspace import Classifier, Subspace, subspace_body

__all__ = [
    "Active",
    "Ask",
    "Classifier",
    "Message",
    "Presence",
    "Receipt",
    "Report",
    "Subspace",
    "Verdict",
    "encode",
    "receipt_topic",
    "report_id",
    "topic",
]

VERSION = 1
PREFIX = f"fsir/{VERSION}"
STAGES = (SCREENING, FINAL)
STATUSES = ("counted", "duplicate", "refused")


@dataclass(frozen=True, eq=False, kw_only=True)
class Report:
    """What a device publishes, once per stage and round: noisy blocks, or votes made of them."""

    task: bytes
    device: str
    stage: str
    n: int
    blocks: tuple[Integers, ...] = ()
    votes: Flags | None = None  # features x slices
    round: int = 1


class Verdict(NamedTuple):
    """What became of one report: its id, `counted`, `duplicate` or `refused`, and why."""

    report: bytes
    status: str
    reason: str = ""
    round: int = 1


class Receipt(NamedTuple):
    """The aggregator's answer to one device: a verdict for each stage that it has sent.

    Of several rounds it is that of the one in question, or else of the last one that is counted.
    """

    task: bytes
    device: str
    verdicts: Mapping[str, Verdict]
    instance: bytes = b""  # the number that holds for this device, if it has asked
    by: str = ""  # "leader" or "helper", where there are two aggregators


class Ask(NamedTuple):
    """A device that was connected asks to go on under a new random number, in place of the last.

    The receipt tells which number holds: of two copies of a device only one reads its own.
    """

    task: bytes
    device: str
    instance: bytes
    previous: bytes = b""


class Active(NamedTuple):
    """The features of the final report."""

    task: bytes
    features: tuple[str, ...]
    devices: int


class Presence(NamedTuple):
    """A device that is there, or gone; only if its owner turned this on."""

    device: str
    online: bool


Message = Report | Receipt | Ask | Active | Subspace | Presence


def report_id(raw: bytes) -> bytes:
    """The identity of a report: a digest of its bytes."""
    return hashlib.sha256(raw).digest()[:ID_BYTES]


def topic(task: str, kind: str, device: str | None = None) -> str:
    """The topic of a message."""
    return f"{PREFIX}/{task}/{kind}" if device is None else f"{PREFIX}/{task}/{kind}/{device}"


def receipt_topic(task: str, device: str, by: str = "") -> str:
    """Where an aggregator answers a device: the helper, one of two, in a place of its own.

    >>> receipt_topic("walks", "pi-7", "leader"), receipt_topic("walks", "pi-7", "helper")
    ('fsir/1/walks/receipt/pi-7', 'fsir/1/walks/receipt/pi-7/helper')
    """
    place = topic(task, "receipt", device)
    return f"{place}/{by}" if by == HELPER else place


# --- encoding -------------------------------------------------------------------------------------


def encode(message: Message) -> bytes:
    """The bytes of a message."""
    table = {"v": VERSION, "kind": type(message).__name__.lower(), **_body(message)}
    raw: bytes = msgpack.packb(table)
    return raw


def _body(message: Message) -> dict[str, Any]:
    if isinstance(message, Report):
        return _report(message)
    if isinstance(message, Receipt):
        return _receipt(message)
    if isinstance(message, Active):
        return _active(message)
    if isinstance(message, Ask | Presence):
        return {key: value for key, value in message._asdict().items() if value != b""}
    return subspace_body(message)


def _report(report: Report) -> dict[str, Any]:
    from fsir.wire.packing import codec

    body: dict[str, Any] = {
        "task": report.task,
        "device": report.device,
        "stage": report.stage,
        "n": report.n,
    }
    if report.round > 1:  # the first says nothing, as version 0.1 had it
        body["round"] = report.round
    if report.votes is not None:
        body["votes"] = [list(report.votes.shape), np.packbits(report.votes).tobytes()]
    else:
        body["blocks"] = list(codec.pack(report.blocks))
    return body


def _receipt(receipt: Receipt) -> dict[str, Any]:
    verdicts = {stage: _verdict(verdict) for stage, verdict in receipt.verdicts.items()}
    body = {"task": receipt.task, "device": receipt.device, "verdicts": verdicts}
    told = {"instance": receipt.instance, "by": receipt.by}
    return body | {key: value for key, value in told.items() if value}


def _verdict(verdict: Verdict) -> list[Any]:
    rounds = [verdict.round] if verdict.round > 1 else []
    return [verdict.report, verdict.status, verdict.reason, *rounds]


def _active(active: Active) -> dict[str, Any]:
    return {"task": active.task, "features": list(active.features), "devices": active.devices}
