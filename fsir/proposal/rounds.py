"""What to expect of devices that report again and again: one report about more records."""

from __future__ import annotations

from dataclasses import replace

from fsir.privacy.rounds.factorisation import INDEPENDENT, correlated, workload
from fsir.proposal.constants import Expectation
from fsir.task.task import Estimate


def over_rounds(
    expected: Expectation, rounds: int, memory: Estimate | None = None, *, independent: bool = False
) -> Expectation:
    """A single report whose noise per record is that of all rounds that are remembered.

    >>> one = Expectation(devices=20, records=300, epsilon=1.0)
    >>> over_rounds(one, 10).records, over_rounds(one, 10, independent=True).records
    (1675, 949)
    >>> over_rounds(one, 1) == one
    True
    """
    if rounds == 1:
        return expected
    memory = memory or Estimate()
    weights = workload(memory, rounds)
    found = INDEPENDENT if independent else correlated(memory, rounds)
    noise = found.norm * found.variance(weights) ** 0.5
    return replace(expected, records=round(expected.records * sum(weights) / noise), rounds=rounds)
