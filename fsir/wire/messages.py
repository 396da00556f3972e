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
from typing import Any

import msgpack
import numpy as np

from fsir.arrays import Flags, Integers, Matrix
from fsir.limits import ID_BYTES
from fsir.privacy.plan import FINAL, SCREENING
from fsir.task.secure import HELPER
from fsir.wire import codec

VERSION = 1
PREFIX = f"fsir/{VERSION}"
STAGES = (SCREENING, FINAL)
STATUSES = ("counted", "duplicate", "refused")
OPTIONAL_ARRAYS = ("basis", "whitening", "centres")  # of a classifier


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


@dataclass(frozen=True)
class Verdict:
    """What became of one report: its id, `counted`, `duplicate` or `refused`, and why."""

    report: bytes
    status: str
    reason: str = ""
    round: int = 1


@dataclass(frozen=True)
class Receipt:
    """The aggregator's answer to one device: a verdict for each stage that it has sent.

    Of several rounds it is that of the one in question, or else of the last one that is counted.
    """

    task: bytes
    device: str
    verdicts: Mapping[str, Verdict]
    instance: bytes = b""  # the number that holds for this device, if it has asked
    by: str = ""  # "leader" or "helper", where there are two aggregators


@dataclass(frozen=True)
class Ask:
    """A device that was connected asks to go on under a new random number, in place of the last.

    The receipt tells which number holds: of two copies of a device only one reads its own.
    """

    task: bytes
    device: str
    instance: bytes
    previous: bytes = b""


@dataclass(frozen=True)
class Active:
    """The features of the final report."""

    task: bytes
    features: tuple[str, ...]
    devices: int


@dataclass(frozen=True, eq=False)
class Classifier:
    """Linear scores `weights @ z + bias` of a projected record `z`, one per class.

    The largest one wins. `z` are the coordinates of the subspace, or, where the classifier needs
    more directions than the subspace shows, those of its own `basis`.
    """

    classes: tuple[str, ...]
    weights: Matrix
    bias: Matrix
    centroids: Matrix  # classes x dimension
    basis: Matrix | None = None  # features x dimension
    temperature: float = 1.0  # scores over this are log odds whose confidence is the right one
    doubtful: tuple[str, ...] = ()  # classes that hardly anybody reported, as far as noise shows
    guess: float = 0.0  # how often one is right who always names the commonest class
    # For who goes on learning with a public map: `whitening^T P^T x` has unit covariance within
    # classes, around these centres.
    whitening: Matrix | None = None  # coordinates x coordinates
    centres: Matrix | None = None  # classes x coordinates


@dataclass(frozen=True, eq=False, kw_only=True)
class Subspace:
    """The estimate that devices use: a standardised record `x` becomes `basis^T x`.

    `Projector` does it. As a message it has no task, whose centres and scales it needs.

    Attributes
    ----------
    features : tuple of str
        The features that the directions combine.
    basis : array, features x dimension
        The directions, for records standardised by the centre and scale of the task.
    singular_values : array
        Of the whitened slice means; those above `noise_level` stand out of the noise.
    expected_error : float
        The expected `projection_loss` of the basis against the truth.
    classifier : Classifier or None
        Where the response is a class.
    expected_accuracy : float or None
        How often the classifier is expected to be right about people who took no part.
    notes : tuple of str
        What whoever uses the estimate should know about it.
    moved : float or None
        Where a task has several rounds: the `projection_loss` to the version before, in units of
        the expected error.

    Examples
    --------
    >>> import numpy as np
    >>> import fsir
    >>> fsir.SubspaceMessage(
    ...     task=bytes(32),
    ...     version=1,
    ...     features=("a", "b"),
    ...     basis=np.array([[1.0], [0.0]]),
    ...     singular_values=np.array([0.8, 0.1]),
    ...     noise_level=0.2,
    ...     expected_error=0.3,
    ...     devices=12,
    ...     records=1200,
    ... ).dimension
    1
    """

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
    notes: tuple[str, ...] = ()
    expected_accuracy: float | None = None
    moved: float | None = None

    @property
    def dimension(self) -> int:
        """Number of directions."""
        return int(self.basis.shape[1])


@dataclass(frozen=True)
class Presence:
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
        return {key: value for key, value in vars(message).items() if value != b""}
    return _subspace(message)


def _report(report: Report) -> dict[str, Any]:
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


def _subspace(subspace: Subspace) -> dict[str, Any]:
    body = {
        "task": subspace.task,
        "version": subspace.version,
        "features": list(subspace.features),
        "basis": _packed(subspace.basis),
        "singular_values": _packed(subspace.singular_values),
        "noise_level": subspace.noise_level,
        "expected_error": subspace.expected_error,
        "devices": subspace.devices,
        "records": subspace.records,
        "refused": subspace.refused,
        "notes": list(subspace.notes),
    }
    if subspace.classifier is not None:
        body["classifier"] = _classifier(subspace.classifier)
    if subspace.expected_accuracy is not None:
        body["expected_accuracy"] = subspace.expected_accuracy
    if subspace.moved is not None:
        body["moved"] = subspace.moved
    return body


def _classifier(classifier: Classifier) -> dict[str, Any]:
    body: dict[str, Any] = {
        "classes": list(classifier.classes),
        "weights": _packed(classifier.weights),
        "bias": _packed(classifier.bias),
        "centroids": _packed(classifier.centroids),
    }
    # What version 0.1 did not know is left out where there is nothing to say.
    if classifier.temperature != 1.0:
        body["temperature"] = classifier.temperature
    if classifier.doubtful:
        body["doubtful"] = list(classifier.doubtful)
    if classifier.guess > 0.0:
        body["guess"] = classifier.guess
    for name in OPTIONAL_ARRAYS:
        if (array := getattr(classifier, name)) is not None:
            body[name] = _packed(array)
    return body


def _packed(array: Matrix) -> list[Any]:
    return [list(array.shape), np.ascontiguousarray(array, dtype="<f8").tobytes()]
