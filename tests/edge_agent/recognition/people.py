"""Owners for the tests of recognition: what they do, and where that lies in a plane."""

from __future__ import annotations

import numpy as np

CLASSES = ("a", "b", "c")
CENTRES = {"a": (-3.0, 0.0), "b": (3.0, 0.0), "c": (0.0, 4.0)}


def stream(n: int, seed: int = 0, shift: float = 0.0) -> list[tuple[tuple[float, ...], str]]:
    """Records around one centre per class, in runs, as people live."""
    rng = np.random.default_rng(seed)
    labels = [CLASSES[(k // 20) % 3] for k in range(n)]
    return [
        (tuple((rng.normal(size=2) + CENTRES[label] + shift).tolist()), label) for label in labels
    ]


def nearest(z: tuple[float, ...]) -> str:
    """What a good classifier says."""
    return min(CLASSES, key=lambda label: np.sum((np.array(z) - CENTRES[label]) ** 2))


def feed(agent, recognition, records, lag: int = 0):
    """As the loop does it: each record is served when it comes, and learned `lag` records later."""
    served = []
    for k in range(len(records) + lag):
        if k < len(records):
            served.append(recognition.serve(agent, records[k]))
        if k >= lag:
            recognition.learn(records[k - lag])
    return served
