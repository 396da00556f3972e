"""Cells with made-up numbers."""

from __future__ import annotations

from sim_devices.worth.cell import Budget, Cell, Run


def run(federation, **others):
    """One run whose public controls are .8, .9 and .85 unless told otherwise."""
    known = {
        "federation": federation,
        "expected": 0.93,
        "confidence": 0.95,
        "plain": 0.8,
        "shrunken": 0.9,
        "alone": 0.85,
        "quiet": 0.96,
        "pooled": 0.97,
    }
    return Run(**known | others)


GOOD = Cell("har", Budget(1.0), (run(0.95), run(0.91)))
BAD = Cell("wine", Budget(0.5), (run(0.88), run(0.89)))
EVEN = Cell("hapt", Budget(1.0, 2), (run(0.895),))
