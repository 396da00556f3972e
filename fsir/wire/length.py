"""How long a report will be, before there is one."""

from __future__ import annotations

import numpy as np

from fsir.privacy.plan import Stage
from fsir.wire.packing.codec import pack

_FRAME_BYTES = 100  # names, digest, lengths
_SHARES_FRAME_BYTES = 260  # the same, the share of the helper, and two seals


def report_bytes(stage: Stage) -> int:
    """About how long a report is: noise takes nearly all of it; in shares, exactly as much."""
    if stage.cohort is not None:  # of 32 bits each, unless there are very many records
        return 4 * sum(stage.sizes) + _SHARES_FRAME_BYTES
    rng = np.random.default_rng(1)
    blocks = [
        np.rint(rng.normal(0.0, block.sd / block.worth, block.size)).astype(np.int64)
        for block in stage.blocks
    ]
    packed = pack(blocks)
    return len(packed.unary) + len(packed.remainders) + _FRAME_BYTES
