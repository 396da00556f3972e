"""A federation that says where classes lie, and owners who differ from it, for the tests."""

from __future__ import annotations

import numpy as np

from edge_agent.recognition.personal import Prior
from edge_agent.recognition.recogniser import Recogniser
from tests.edge_agent.recognition.people import CLASSES

CENTRES = np.array([[0.0, 0.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]])
PRIOR = Prior(classes=CLASSES, centres=CENTRES, shares=np.array([0.5, 0.25, 0.25]))
OFFSET = np.array([1.5, 1.5, 0.0, -3.0])  # of an owner who differs
Records = list[tuple[bytes, str]]


def federation(v: bytes) -> str:
    """The federation's own rule."""
    gaps = np.frombuffer(v, "<f4") - CENTRES
    return CLASSES[int(np.argmax(np.log(PRIOR.shares) - 0.5 * (gaps**2).sum(axis=1)))]


def owner(n: int, seed: int = 0, offset: np.ndarray = OFFSET) -> Records:
    """Records of an owner whose classes all lie elsewhere by `offset`."""
    rng = np.random.default_rng(seed)
    slices = rng.integers(0, len(CLASSES), n)
    rows = CENTRES[slices] + offset + rng.normal(size=(n, CENTRES.shape[1]))
    return [(v.astype("<f4").tobytes(), CLASSES[h]) for v, h in zip(rows, slices, strict=True)]


def lived(recogniser: Recogniser, records: Records) -> dict[str, int]:
    """Right answers of who was heard, of the device, and of the federation."""
    right = {"said": 0, "device": 0, "federation": 0}
    for v, label in records:
        answer = recogniser.answer((0.0,), federation(v), 0.5, v)
        for who in right:
            right[who] += getattr(answer, who) == label
        recogniser.learn(answer, label)
    return right
