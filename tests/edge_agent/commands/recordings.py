"""A recording for the tests of `fsir-agent features`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.edge_agent.motion import BEGIN, OPTIONS, recording, write_recording

RANGES = ["--acc-range", str(OPTIONS.acc_range), "--gyro-range", str(OPTIONS.gyro_range)]


def write_walk(folder: Path) -> Path:
    """A minute: still, then moving, and at the end without a label."""
    times, acc, gyro = recording(60)
    still = times < BEGIN + 30
    acc[still] = acc[still] * 0.05 + [0.9, 0.0, 0.1]
    gyro[still] = gyro[still] * 0.05
    labels = np.where(still, "resting", "moving")
    labels[times > BEGIN + 50] = ""
    return write_recording(folder / "walk.csv", times, acc, gyro, labels)
