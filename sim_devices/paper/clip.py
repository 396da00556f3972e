"""The one rule for the clip: from public quantities alone, the same for every model, size, budget
and fleet."""

from __future__ import annotations

import math

NORM_PER_ROOT = 0.85


def clip_norm(p: int, norm_per_root: float = NORM_PER_ROOT) -> float:
    """Euclidean clip C for p features of public centre 0 and scale 1: 0.85 of the usual length of a
    record, sqrt(p).

    Nearly every record is shortened. That costs little, because shortening keeps a record's
    direction, and directions are what is estimated; and the noise, which grows with C, shrinks.

    >>> round(clip_norm(10), 2)
    2.69
    """
    return norm_per_root * math.sqrt(p)
