"""What reports cost exactly: how far the integers of two worlds are apart, in their noise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from edge_agent.consent.admission import cost_of
from edge_agent.consent.budget import load
from edge_agent.learning import report as reporting
from edge_agent.state.state import State
from fsir.arrays import Matrix
from fsir.privacy.moments import Moments
from fsir.privacy.noise import Noise
from fsir.privacy.release import Release, release

Exact = tuple[str, Matrix]  # the stage, and its integers in units of their noise


def in_noise(moments: Moments) -> Exact:
    """All that a report is made from, each number in standard deviations of its noise."""
    stage = moments.stage
    parts = [
        moments.sums().reshape(-1) * (stage.sums.unit / stage.sums.sd),
        moments.counts() * (stage.counts.unit / stage.counts.sd),
    ]
    if (second := moments.second()) is not None:
        above = second[np.triu_indices(stage.p, 1)]
        parts.append(np.diagonal(second) * (stage.diagonal.unit / stage.diagonal.sd))
        if above.size:
            parts.append(above * (stage.off_diagonal.unit / stage.off_diagonal.sd))
    return stage.name, np.concatenate(parts)


@contextmanager
def tapped(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Exact]]:
    """What every report made in here was made from."""
    seen: list[Exact] = []

    def tap(moments: Moments, noise: Noise) -> Release:
        seen.append(in_noise(moments))
        return release(moments, noise)

    with monkeypatch.context() as patch:
        patch.setattr(reporting, "release", tap)
        yield seen


def exact_mu(first: list[Exact], second: list[Exact]) -> float:
    """The exact cost of telling two worlds apart by all that they have published."""
    assert [stage for stage, _ in first] == [stage for stage, _ in second]
    pairs = zip(first, second, strict=True)
    return math.sqrt(sum(float(((a - b) ** 2).sum()) for (_, a), (_, b) in pairs))


def booked_mu(state: State) -> float:
    """What the ledger says that everything has cost."""
    return math.sqrt(load(cost_of(row) for row in state.ledger())[0])
