"""What goes over the wire: msgpack, versioned, checked on arrival.

Topics under `fsir/1/<task>/`: `task`, `report/<device>`, `receipt/<device>`, `active`, `subspace`,
`presence/<device>`. Whatever arrives either decodes to one of the frozen messages below or raises `MessageError`;
nothing else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from fsir.limits import ID_BYTES
from fsir.privacy.plan import FINAL, SCREENING
from fsir.wire import codec

VERSION = 1
PREFIX = f"fsir/{VERSION}"
STAGES = (SCREENING, FINAL)
STATUSES = ("counted", "duplicate", "refused")

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Report:
    """What a device publishes, once per stage: noisy blocks, or votes computed from them."""

    task: bytes
    device: str
    stage: str
    n: int
    blocks: tuple[NDArray[np.int64], ...] = ()
    votes: NDArray[np.bool_] | None = None  # features x slices


@dataclass(frozen=True)
class Verdict:
    """What became of one report: its id, `counted`, `duplicate` or `refused`, and why."""

    report: bytes
    status: str
    reason: str = ""


@dataclass(frozen=True)
class Receipt:
    """The aggregator's answer to one device: a verdict for each stage that it has sent."""

    task: bytes
    device: str
    verdicts: Mapping[str, Verdict]


@dataclass(frozen=True)
class Active:
    """The features of the final report."""

    task: bytes
    features: tuple[str, ...]
    devices: int


@dataclass(frozen=True, eq=False)
class Classifier:
    """Linear scores `weights @ z + bias` of a projected record `z`, one per class; the largest one wins."""

    classes: tuple[str, ...]
    weights: Matrix
    bias: Matrix
    centroids: Matrix  # classes x dimension


@dataclass(frozen=True, eq=False)
class Subspace:
    """The estimate that devices use: a standardised record `x` becomes `basis^T x` (see `fsir.estimate.projection`)."""

    task: bytes
    version: int
    features: tuple[str, ...]
    basis: Matrix  # features x dimension
    singular_values: Matrix
    noise_level: float
    expected_error: float
    devices: int
    records: int
    refused: int = 0
    classifier: Classifier | None = None
    notes: tuple[str, ...] = field(default=())

    @property
    def dimension(self) -> int:
        """Number of directions."""
        return int(self.basis.shape[1])


@dataclass(frozen=True)
class Presence:
    """A device that is there, or gone; only if its owner turned this on."""

    device: str
    online: bool


Message = Report | Receipt | Active | Subspace | Presence


def report_id(raw: bytes) -> bytes:
    """The identity of a report: a digest of its bytes."""
    return hashlib.sha256(raw).digest()[:ID_BYTES]


def topic(task: str, kind: str, device: str | None = None) -> str:
    """The topic of a message."""
    return f"{PREFIX}/{task}/{kind}" if device is None else f"{PREFIX}/{task}/{kind}/{device}"


# --- encoding -------------------------------------------------------------------------------------------------------


def encode(message: Message) -> bytes:
    """The bytes of a message."""
    table = {"v": VERSION, "kind": type(message).__name__.lower(), **_body(message)}
    raw: bytes = msgpack.packb(table)
    return raw


def _body(message: Message) -> dict[str, Any]:
    if isinstance(message, Report):
        body: dict[str, Any] = {
            "task": message.task,
            "device": message.device,
            "stage": message.stage,
            "n": message.n,
        }
        if message.votes is not None:
            return body | {
                "votes": [list(message.votes.shape), np.packbits(message.votes).tobytes()]
            }
        packed = codec.pack(message.blocks)
        return body | {
            "blocks": [packed.sizes, packed.centres, packed.k, packed.unary, packed.remainders]
        }
    if isinstance(message, Receipt):
        verdicts = {stage: [v.report, v.status, v.reason] for stage, v in message.verdicts.items()}
        return {"task": message.task, "device": message.device, "verdicts": verdicts}
    if isinstance(message, Active):
        return {
            "task": message.task,
            "features": list(message.features),
            "devices": message.devices,
        }
    if isinstance(message, Presence):
        return {"device": message.device, "online": message.online}
    body = {
        "task": message.task,
        "version": message.version,
        "features": list(message.features),
        "basis": _packed(message.basis),
        "singular_values": _packed(message.singular_values),
        "noise_level": message.noise_level,
        "expected_error": message.expected_error,
        "devices": message.devices,
        "records": message.records,
        "refused": message.refused,
        "notes": list(message.notes),
    }
    if message.classifier is not None:
        c = message.classifier
        arrays = {
            "weights": _packed(c.weights),
            "bias": _packed(c.bias),
            "centroids": _packed(c.centroids),
        }
        body["classifier"] = {"classes": list(c.classes), **arrays}
    return body


def _packed(array: Matrix) -> list[Any]:
    return [list(array.shape), np.ascontiguousarray(array, dtype="<f8").tobytes()]
