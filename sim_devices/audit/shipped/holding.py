"""Whether a report is held is seen, too: how well does that tell two neighbouring streams apart?

Agents that may hold their report get records of which half are far outside of what the task
expects, where the decision is closest, and the same with one unit of them as expected. What is
booked is what they may tell: the rates of held reports bound it from below, and must be those of
the proof (docs/privacy.md, proposition 12).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import binomtest

from fsir.arrays import Matrix
from fsir.privacy import accounting
from fsir.task.task import Task
from sim_devices.audit.finding import CONFIDENCE, RISK, Bound, Finding, at_least, at_most
from sim_devices.audit.shipped.agent import feed, sent, started
from sim_devices.audit.shipped.cases import LOOSE, small_task

_RECORDS = 64
_UNIT = 2
_FAR = 1e4
_LEVEL = RISK / 2  # of each of two rates


def of_hold(runs: int) -> Finding:
    """The shipped agent at the threshold: how often it holds its report, and what it books."""
    task = small_task(unit=_UNIT, report={"records": _RECORDS})
    with unheard():
        held, faults, mu = _held(task, _stream(_RECORDS // 2), runs)
        other, more, _ = _held(task, _stream(_RECORDS // 2 - _UNIT), runs)
    faults += more
    if mu > 0.0:
        faults += _misfit(held, runs, 0, mu) + _misfit(other, runs, _UNIT, mu)
    return Finding(
        mechanism="agent",
        pair="held or not",
        epsilon=accounting.epsilon_of(mu, LOOSE[1]) if mu > 0.0 else 0.0,
        delta=LOOSE[1],
        bound=_bound(held, other, runs),
        faults=tuple(faults),
    )


@contextmanager
def unheard() -> Iterator[None]:
    """What agents tell their owners is of no use here."""
    log = logging.getLogger("fsir.agent")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


def _stream(far: int) -> tuple[Matrix, list[str]]:
    """Records of which so many are far away in a feature, and classes in turn."""
    X = np.random.default_rng(0).normal(size=(_RECORDS, 4))
    X[:far, 0] = _FAR
    return X, [str(i % 2) for i in range(_RECORDS)]


def _held(task: Task, stream: tuple[Matrix, list[str]], runs: int) -> tuple[int, list[str], float]:
    """How many agents hold their report, what is wrong with them, and what one of them books."""
    count = 0
    faults: list[str] = []
    mu = 0.0
    for _ in range(runs):
        with started(task, hold=True) as agent:
            feed(agent, *stream)
            leaves = bool(sent(agent, task))
            booked = [row.mu for row in agent.state.ledger() if not row.is_report]
            if leaves == bool(agent.held) or len(booked) != 1:
                faults = [f"held: {agent.held!r}, sent: {leaves}, decisions booked: {len(booked)}"]
            mu = max([mu, *booked])
            count += bool(agent.held)
    return count, faults, mu


def _misfit(held: int, runs: int, margin: int, mu: float) -> list[str]:
    """Whether reports are held as often as the proof says, so many witnesses from the threshold."""
    sd = _UNIT / mu
    step = 2 ** max(0, math.floor(math.log2(sd / 8.0) + 1e-9))
    expected = float(ndtr(-(margin + step / 2.0) / sd))
    chance = float(binomtest(held, runs, expected).pvalue)
    if chance >= _LEVEL:
        return []
    by_chance = f"(by chance: {chance:.0e})"
    return [f"{held} of {runs} reports are held, not {expected:.3g} of them {by_chance}"]


def _bound(held: int, other: int, runs: int) -> Bound:
    """On the claimed curve, from the rates of both streams."""
    p = at_least(held, runs, 1.0 - _LEVEL)
    q = at_most(other, runs, 1.0 - _LEVEL)
    mu = max(0.0, float(ndtri(p) - ndtri(q))) if p > 0.0 and q < 1.0 else 0.0
    epsilon = accounting.epsilon_of(mu, LOOSE[1]) if mu > 0.0 else 0.0
    method = f"Gaussian curve through how often {runs} agents a side hold, mu at least {mu:.4g}"
    return Bound(epsilon, accounting.delta_of(mu, LOOSE[0]) if mu > 0 else 0.0, CONFIDENCE, method)
