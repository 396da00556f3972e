"""What a report costs on the air: p = 10 features, H = 8 slices, n = 1000 records,
epsilon 1, delta 1e-6.

The floor is the entropy of what is sent: every published value is a Gaussian of known width rounded
to a known step, and even a receiver who knew the data would have to be told the noise.
"""

from __future__ import annotations

import msgpack
import numpy as np

from fsir.contract import task_from_table
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SeededNoise
from fsir.privacy.plan import Block, first_stage
from fsir.privacy.release import release
from fsir.wire.messages import Report, encode
from fsir.wire.packing import codec

REPORTS = 50
BARS = {
    "packed integers / float64": "<= 0.1667",
    "bytes of the whole message, largest of 50": "< 300",
}


def entropy(block: Block) -> float:
    """Bits in one published value whose exact sum is known,
    on average over where that lies between two steps."""
    ratio = block.sd / block.worth
    outcomes = np.arange(-np.ceil(10 * ratio + 1), np.ceil(10 * ratio + 2))
    bits = []
    for fraction in np.linspace(0.0, 1.0, 16, endpoint=False) if block.step > 1 else (0.0,):
        weights = np.exp(
            -0.5 * ((outcomes[:, None] + np.linspace(-0.5, 0.5, 33) - fraction) / ratio) ** 2
        ).sum(axis=1)
        shares = weights[weights > 0] / weights.sum()
        bits.append(-(shares * np.log2(shares)).sum())
    return float(np.mean(bits))


def run() -> dict[str, float]:
    """Average over reports about data with a signal,
    so that sums and second moments are not all alike."""
    task = task_from_table(
        {
            "name": "size",
            "features": {"names": [f"x{j}" for j in range(10)]},
            "response": {"cuts": [-1.15, -0.67, -0.32, 0.0, 0.32, 0.67, 1.15]},
            "clip": {"truncate": 3.6, "norm": 3.6},
            "privacy": {"epsilon": 1.0, "delta": 1e-6},
            "report": {"records": 1000},
        }
    )
    stage = first_stage(task)
    values = sum(stage.sizes)
    packed = []
    messages = []
    for seed in range(REPORTS):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1000, 10))
        moments = Moments(task, stage)
        moments.learn_many(X, 0.6 * X[:, 0] + 0.8 * rng.normal(size=1000))
        blocks = release(moments, SeededNoise(seed)).blocks
        rice = codec.pack(blocks)
        packed.append(len(msgpack.packb([rice.centres, rice.k, rice.unary, rice.remainders])))
        report = Report(
            task=task.digest, device="device-0001", stage=stage.name, n=1000, blocks=blocks
        )
        messages.append(len(encode(report)))
    floor = sum(block.size * entropy(block) for block in stage.blocks) / 8
    return {
        "values in a report": float(values),
        "bytes as float64": 8.0 * values,
        "bytes of the packed integers": float(np.mean(packed)),
        "packed integers / float64": float(np.mean(packed)) / (8 * values),
        "bytes of the whole message, largest of 50": float(max(messages)),
        "entropy of the coarsened values, bytes": floor,
        "packed integers / entropy": float(np.mean(packed)) / floor,
    }
