"""One message of every kind, its bytes, and its bytes with a field changed."""

from __future__ import annotations

import dataclasses

import msgpack
import numpy as np

from fsir.wire.messages import (
    Active,
    Ask,
    Classifier,
    Presence,
    Receipt,
    Report,
    Subspace,
    Verdict,
    encode,
)

KINDS = {kind.__name__.lower(): kind for kind in (Active, Ask, Presence, Receipt, Report, Subspace)}
DIGEST = bytes(range(32))
RNG = np.random.default_rng(0)


def integers(*sizes):
    return tuple(RNG.normal(scale=12.0, size=size).astype(np.int64) for size in sizes)


def report(stage, **content):
    return Report(task=DIGEST, device="pi-7", stage=stage, n=1000, **content)


MESSAGES = {
    "report": report("final", blocks=integers(80, 8, 10, 45)),
    "screening report": report("screening", blocks=integers(30, 0, 0, 0)),
    "votes": report("screening", votes=RNG.random((21, 3)) < 0.2),
    "receipt": Receipt(
        DIGEST,
        "pi-7",
        {
            "screening": Verdict(b"a" * 16, "counted"),
            "final": Verdict(b"b" * 16, "refused", "second report"),
        },
    ),
    "receipt of one who asked": Receipt(DIGEST, "pi-7", {}, b"n" * 16),
    "ask": Ask(DIGEST, 64 * "d", b"n" * 16, b"o" * 16),
    "first ask": Ask(DIGEST, "pi-7", b"n" * 16),
    "active": Active(DIGEST, ("speed", "tilt", "beschleunigung-ü"), 12),
    "subspace": Subspace(
        task=DIGEST,
        version=3,
        features=("a", "b", "c"),
        basis=RNG.normal(size=(3, 2)),
        singular_values=np.array([0.5, 0.2, 0.01]),
        noise_level=0.02,
        expected_error=0.3,
        devices=12,
        records=12000,
        refused=1,
        classifier=Classifier(
            ("sit", "walk"), RNG.normal(size=(2, 2)), np.zeros(2), RNG.normal(size=(2, 2))
        ),
        notes=("few devices",),
    ),
    "subspace of a public map": Subspace(
        task=DIGEST,
        version=4,
        features=("a", "b", "c"),
        basis=RNG.normal(size=(3, 1)),
        singular_values=np.array([0.5, 0.2]),
        noise_level=0.02,
        expected_error=0.3,
        devices=12,
        records=12000,
        classifier=Classifier(
            classes=("lie", "sit", "walk"),
            weights=RNG.normal(size=(3, 2)),
            bias=np.zeros(3),
            centroids=RNG.normal(size=(3, 2)),
            basis=RNG.normal(size=(3, 2)),
            temperature=1.5,
            doubtful=("lie",),
            guess=0.4,
            whitening=np.eye(4),
            centres=RNG.normal(size=(3, 4)),
        ),
        expected_accuracy=0.87,
    ),
    "bare subspace": Subspace(
        task=DIGEST,
        version=1,
        features=("a",),
        basis=np.ones((1, 1)),
        singular_values=np.ones(1),
        noise_level=0.0,
        expected_error=0.1,
        devices=1,
        records=10,
    ),
    "presence": Presence("pi-7", True),
}
RAW = {
    name: (encode(message), type(message).__name__.lower()) for name, message in MESSAGES.items()
}


def same(a, b):
    if dataclasses.is_dataclass(a):
        return type(a) is type(b) and all(
            same(getattr(a, part.name), getattr(b, part.name)) for part in dataclasses.fields(a)
        )
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, tuple):
        return (
            type(a) is type(b)
            and len(a) == len(b)
            and all(same(x, y) for x, y in zip(a, b, strict=True))
        )
    return bool(a == b)


def changed(name, **changes):
    """The bytes of a message with other fields, and its kind; `None` removes a field."""
    table = msgpack.unpackb(RAW[name][0])
    for key, value in changes.items():
        if value is None:
            del table[key]
        else:
            table[key] = value
    return msgpack.packb(table), RAW[name][1]
