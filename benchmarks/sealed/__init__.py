"""How fast one of two aggregators takes sealed reports and opens their sum, against reports that
are not sealed, taken by an aggregator that is alone.

No network is between: batches of a thousand reports of p = 10 features and eight slices are read,
opened with our key, counted in a durable transaction (synchronous=FULL) and answered, by the same
calls as in the daemon. Rates are per second of processor time, in one thread. Both kinds take turns
in the same minute on the same machine, so that their ratio travels better than either. What a
sealed report costs its device is in `benchmarks.sealed.device`.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from aggregator.core import Aggregator
from aggregator.secure.core import SecureAggregator
from aggregator.secure.seat import Seat
from aggregator.store.opening import open_store
from benchmarks import intake
from benchmarks.sealed.device import compared
from fsir.privacy.plan import first_stage, report_size
from fsir.privacy.release import Release
from fsir.secure.keys import KeyPair
from fsir.secure.report import sealed_report
from fsir.task.secure import HELPER, LEADER, ROLES, Secure
from fsir.task.task import SECURE, Task
from fsir.wire.messages import topic
from fsir.wire.shared import encode_shared

REPORTS = 5_000
ROUNDS = 3
BATCH = 1000
COHORT = 20
PAIRS = {LEADER: KeyPair.new("leader"), HELPER: KeyPair.new("helper")}
BARS = {
    "sealed reports per second of processor time, leader": ">= 2000",
    "sealed reports per second of processor time, helper": ">= 2000",
}

Sent = list[tuple[str, bytes]]


def sealed_task() -> Task:
    """The task of `intake`, for two aggregators."""
    parties = {role: pair.party for role, pair in PAIRS.items()}
    secure = Secure(leader=parties[LEADER], helper=parties[HELPER], cohort=COHORT)
    return replace(intake.low_dimensional(), aggregation=SECURE, secure=secure)


def sealed_reports(task: Task, count: int) -> Sent:
    """Topic and bytes of as many different reports."""
    stage = first_stage(task)
    zeros = [np.zeros(size, np.int64) for size in stage.sizes]
    release = Release(report_size(task), (zeros[0], zeros[1], zeros[2], zeros[3]))
    devices = [f"device-{i:06d}" for i in range(count)]
    return [
        (
            topic(task.name, "report", device),
            encode_shared(sealed_report(task, stage, device, release)),
        )
        for device in devices
    ]


def taken(make: Callable[[Any], Aggregator], sent: Sent) -> tuple[float, Aggregator]:
    """Reports per second of processor time."""
    folder = tempfile.mkdtemp()
    core = make(open_store(f"sqlite:{Path(folder) / 'store.db'}"))
    core.start(1.0)
    start = time.process_time()
    for first in range(0, len(sent), BATCH):
        for place, raw in sent[first : first + BATCH]:
            core.take(place, raw)
        core.commit(2.0)
    return len(sent) / (time.process_time() - start), core


def opened(leader: Aggregator, helper: Aggregator) -> dict[str, float]:
    """Processor time of each until the sum is open."""
    spent = dict.fromkeys(ROLES, 0.0)

    def timed(role: str, call: Callable[[], list[Any]]) -> list[Any]:
        start = time.process_time()
        said = call()
        spent[role] += time.process_time() - start
        return said

    def heard(role: str, core: Aggregator, said: list[Any]) -> list[Any]:
        for publication in said:
            core.take(publication.topic, publication.payload)
        return timed(role, lambda: core.commit(3.0))

    proposed = [p for p in timed(LEADER, lambda: leader.tick(3.0)) if "/cohort/" in p.topic]
    heard(LEADER, leader, heard(HELPER, helper, proposed))
    devices = leader.store.totals(1, "final").devices
    return {role: seconds / devices for role, seconds in spent.items()}


def run(count: int = REPORTS, rounds: int = ROUNDS) -> dict[str, float]:
    """Rates, their ratio to reports that are not sealed, and what opening costs."""
    plain = intake.low_dimensional()
    sealed = sealed_task()
    both = (intake.reports(plain, count, seed=1), sealed_reports(sealed, count))
    rates: dict[str, list[float]] = {kind: [] for kind in ("plain", *ROLES)}
    opening: dict[str, list[float]] = {role: [] for role in ROLES}
    for _ in range(rounds):
        rate, alone = taken(lambda store: Aggregator(store, [plain]), both[0])
        rates["plain"].append(rate)
        alone.store.close()
        cores = {}
        for role in ROLES:
            seat = Seat(role, PAIRS[role])
            rate, cores[role] = taken(
                lambda store, seat=seat: SecureAggregator(store, [sealed], seat), both[1]
            )
            rates[role].append(rate)
        for role, seconds in opened(cores[LEADER], cores[HELPER]).items():
            opening[role].append(1e6 * seconds)
            cores[role].store.close()
    figures = {}
    for role in ROLES:
        ratio = [mine / other for mine, other in zip(rates[role], rates["plain"], strict=True)]
        name = "sealed reports per second of processor time"
        figures[f"{name}, {role}"] = statistics.median(rates[role])
        figures[f"sealed / plain reports per second, {role}"] = statistics.median(ratio)
        figures[f"opening, per report (us), {role}"] = statistics.median(opening[role])
    figures["plain reports per second of processor time"] = statistics.median(rates["plain"])
    figures["bytes of a sealed report"] = len(both[1][0][1])
    return figures | compared({"plain": plain, "sealed": sealed})
