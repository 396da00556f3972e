"""Decoding of untrusted bytes: every field is checked before anything is built from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from fsir.errors import MessageError
from fsir.limits import ID_BYTES, MAX_FEATURES, MAX_ROUNDS, MAX_SLICES
from fsir.task.secure import ROLES
from fsir.wire.fields import MessageFields, read_message
from fsir.wire.messages import (
    STAGES,
    STATUSES,
    Active,
    Ask,
    Message,
    Presence,
    Receipt,
    Report,
    Verdict,
)
from fsir.wire.subspace import OPTIONAL_ARRAYS, Classifier, Subspace
from fsir.wire.unpack import unpack

Kind = TypeVar("Kind", bound=Message)

_LONGEST_REASON = 500  # characters
_MOST_NOTES = 20


def decode(raw: bytes, kind: type[Kind], limit: int | None = None) -> Kind:
    """The message of the given kind, such as `Subspace`, that `raw` holds.

    >>> from fsir.wire.messages import Presence, encode
    >>> decode(encode(Presence("pi-7", online=True)), Presence)
    Presence(device='pi-7', online=True)
    """
    name = kind.__name__.lower()
    reader: Callable[[MessageFields], Kind] = _READERS[kind]
    return read_message(unpack(raw, name, limit), name, reader)


def _report(fields: MessageFields) -> Report:
    from fsir.wire.packing import codec
    from fsir.wire.sealed import read_sealed

    sealed = read_sealed(fields)
    return Report(
        task=sealed.task,
        device=sealed.device,
        stage=sealed.stage,
        n=sealed.n,
        blocks=() if sealed.packed is None else codec.unpack(sealed.packed),
        votes=sealed.votes,
        round=sealed.round,
    )


def _receipt(fields: MessageFields) -> Receipt:
    task = fields.digest()
    device = fields.device()
    table = fields.get("verdicts")
    if not isinstance(table, dict) or not set(table) <= set(STAGES):
        raise fields.wrong("verdicts", table, "a verdict per stage")
    verdicts = {stage: _verdict(fields, value) for stage, value in table.items()}
    return Receipt(
        task=task,
        device=device,
        verdicts=verdicts,
        instance=fields.instance("instance") if fields.has("instance") else b"",
        by=fields.as_choice("by", fields.get("by"), ROLES) if fields.has("by") else "",
    )


def _ask(fields: MessageFields) -> Ask:
    return Ask(
        task=fields.digest(),
        device=fields.device(),
        instance=fields.instance("instance"),
        previous=fields.instance("previous") if fields.has("previous") else b"",
    )


def _verdict(fields: MessageFields, value: Any) -> Verdict:
    if not (
        isinstance(value, list)
        and len(value) in (3, 4)
        and isinstance(value[0], bytes)
        and isinstance(value[2], str)
    ):
        raise fields.wrong("verdicts", value, "a verdict")
    report, status, reason = value[:3]
    readable = len(reason) <= _LONGEST_REASON and (reason.isprintable() or not reason)
    if len(report) != ID_BYTES or not readable:
        expected = f"an id of {ID_BYTES} bytes and a reason of at most {_LONGEST_REASON} characters"
        raise fields.wrong("verdicts", value, expected)
    # A first round is not written out: the same verdict is always the same bytes.
    round = fields.as_whole("verdicts", value[3], 2, MAX_ROUNDS) if len(value) == 4 else 1
    return Verdict(report, fields.as_choice("verdicts", status, STATUSES), reason, round)


def _active(fields: MessageFields) -> Active:
    features = fields.texts("features", at_most=MAX_FEATURES)
    if not features or len(set(features)) < len(features):
        raise fields.wrong("features", features, "a list of different names, at least one")
    return Active(fields.digest(), features, fields.whole("devices"))


def _subspace(fields: MessageFields) -> Subspace:
    features = fields.texts("features", at_most=MAX_FEATURES)
    basis = fields.array("basis", 2)
    if len(features) != len(basis) or not 1 <= basis.shape[1] <= len(basis):
        raise MessageError(
            f"field 'basis': shape {basis.shape} does not fit {len(features)} features"
        )
    # The classifier before the rest: the first fault found is the one that is told.
    classifier = _classifier(fields, *basis.shape) if fields.has("classifier") else None
    return Subspace(
        task=fields.digest(),
        version=fields.whole("version"),
        features=features,
        basis=basis,
        singular_values=fields.array("singular_values", 1),
        noise_level=fields.size("noise_level"),
        expected_error=fields.size("expected_error"),
        devices=fields.whole("devices"),
        records=fields.whole("records"),
        refused=fields.whole("refused"),
        classifier=classifier,
        notes=fields.texts("notes", at_most=_MOST_NOTES),
        expected_accuracy=_share(fields, "expected_accuracy"),
        moved=fields.size("moved") if fields.has("moved") else None,
    )


def _share(fields: MessageFields, key: str) -> float | None:
    if not fields.has(key):
        return None
    share = fields.size(key)
    if share > 1.0:
        raise fields.wrong(key, share, "a share, at most 1")
    return share


def _classifier(parent: MessageFields, features: int, dimension: int) -> Classifier:
    value = parent.get("classifier")
    if not isinstance(value, dict):
        raise parent.wrong("classifier", value, "a table")
    fields = MessageFields(value)
    classes = fields.texts("classes", at_most=MAX_SLICES)
    weights = fields.array("weights", 2)
    bias = fields.array("bias", 1)
    centroids = fields.array("centroids", 2)
    basis, whitening, centres = (
        fields.array(name, 2) if fields.has(name) else None for name in OPTIONAL_ARRAYS
    )
    temperature = fields.size("temperature") if fields.has("temperature") else 1.0
    doubtful = fields.texts("doubtful", (), at_most=MAX_SLICES)
    guess = _share(fields, "guess") or 0.0
    fields.done()
    if not temperature > 0.0:
        raise fields.wrong("temperature", temperature, "a number above 0")
    if basis is not None:
        dimension = basis.shape[1]
    shape = (len(classes), dimension)
    fits = weights.shape == centroids.shape == shape and bias.shape == (len(classes),)
    fits = fits and (basis is None or len(basis) == features) and set(doubtful) <= set(classes)
    fits = fits and (whitening is None) == (centres is None)
    if whitening is not None and centres is not None:
        width = len(whitening)
        fits = fits and whitening.shape == (width, width) and centres.shape == (len(classes), width)
    if not fits or not classes:
        raise MessageError(
            f"field 'classifier': arrays do not fit {len(classes)} classes "
            f"in {dimension} dimensions"
        )
    return Classifier(
        classes=classes,
        weights=weights,
        bias=bias,
        centroids=centroids,
        basis=basis,
        temperature=temperature,
        doubtful=doubtful,
        guess=guess,
        whitening=whitening,
        centres=centres,
    )


def _presence(fields: MessageFields) -> Presence:
    online = fields.flag("online")
    return Presence(fields.device(), online)


_READERS: dict[type, Callable[[MessageFields], Any]] = {
    Report: _report,
    Receipt: _receipt,
    Ask: _ask,
    Active: _active,
    Subspace: _subspace,
    Presence: _presence,
}
