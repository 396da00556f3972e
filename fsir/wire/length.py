"""How long a report will be, before there is one."""

from __future__ import annotations

import numpy as np

from fsir.privacy.plan import Stage
from fsir.wire.codec import pack

_FRAME_BYTES = 100  # names, digest, lengths


def report_bytes(stage: Stage) -> int:
    """About how long a report is: noise takes nearly all of it."""
    rng = np.random.default_rng(1)
    blocks = [
        np.rint(rng.normal(0.0, block.sd / block.worth, block.size)).astype(np.int64)
        for block in stage.blocks
    ]
    packed = pack(blocks)
    return len(packed.unary) + len(packed.remainders) + _FRAME_BYTES
