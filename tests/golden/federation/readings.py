"""What the devices have measured: tables that follow from a seed on every machine, bit for bit."""

from __future__ import annotations

import random
from pathlib import Path

from tests.golden.federation.tasks import CLASSES, FEATURES

SEED = 7
DEVICES = ("dev-1", "dev-2", "dev-3", "dev-4", "dev-5")
ROWS = {"dev-1": 130, "dev-5": 46, "public": 60}
# Rows that no task can use, or not every one: an unknown class, no number, a field too few.
_FLAWS = {4: "fly", 9: "", 17: "sit,", 50: "run"}


def write(folder: Path) -> None:
    """One table for each device, and one for everybody: the public sample of a new task."""
    for device in (*DEVICES, "public"):
        (folder / f"{device}.csv").write_text(_text(device), encoding="utf-8")


def _text(device: str) -> str:
    rng = random.Random(f"{SEED} {device}")
    lines = [",".join([*FEATURES, "delay", "activity"])]
    flaws = _FLAWS if device in DEVICES else {}
    lines += [_line(rng, flaws.get(number)) for number in range(ROWS.get(device, 90))]
    return "\n".join(lines) + "\n"


def _line(rng: random.Random, flaw: str | None) -> str:
    """One record: each class has its own place in one of the first three features."""
    slice_ = rng.randrange(len(CLASSES))
    values = [_normal(rng) for _ in FEATURES]
    values[slice_] += 1.75
    delay = 8.0 * values[0] + 2.0 * _normal(rng)
    activity = CLASSES[slice_] if flaw is None else flaw
    return ",".join([*(f"{value:.3f}" for value in values), f"{delay:.2f}", activity])


def _normal(rng: random.Random) -> float:
    """Nearly normal; only additions, so that no library can give other bits."""
    total = -6.0
    for _ in range(12):
        total += rng.random()
    return total
