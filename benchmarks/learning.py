"""How fast a device learns: records per second,
as a ratio to the bare matrix products and to a well-known learner.

The bare update is what no accumulator of these sums can do without: `S += X.T @ X` and `G += X.T @
onehot` on floats, without checks, clipping or exactness. scikit-learn's IncrementalPCA sees the
same rows in the same batches, once as it comes (as many components as a batch can give) and once
keeping only ten, which makes its work much smaller. Under a public map the bare update is that of
`X @ P`. Learning takes turns with the bare update, and then with the learner, whose tenths of a
second would leave nothing of either in the cache; on one thread, and the best of several rounds
counts.

Watching is what a device counts of its records beside learning (`edge_agent.watch.counts`), over
one report of a thousand of them, that come one by one as in a device, or in batches.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from sklearn.decomposition import IncrementalPCA
from threadpoolctl import threadpool_limits

from edge_agent.watch.counts import Counts
from edge_agent.watch.faults import FEW_SHARE
from edge_agent.watch.threshold import Threshold
from fsir.contract import task_from_table
from fsir.privacy.moments import Moments
from fsir.privacy.plan import first_stage
from fsir.task.public_map import pack
from fsir.task.task import Task

BATCH = 64
SLICES = 8
REPORT = 1000  # records
BATCHES = {10: 400, 100: 200, 561: 32, 2000: 8}
ROUNDS = {10: 100, 100: 100, 561: 5, 2000: 5}  # the shorter, the more: a few ms say little
COORDINATES = 150  # of the map of 561 features
_MAPPED = f"p = 561 mapped to {COORDINATES}"
CHECKED_SLICES = 6  # as many as the activities of HAR
_CHECKED = f"{_MAPPED}, {CHECKED_SLICES} slices, checked"
BARS = {
    "learning / bare products, p = 10": ">= 0.6",
    "learning / bare products, p = 100": ">= 0.8",
    "learning / bare products, p = 561": ">= 0.95",
    "learning / IncrementalPCA, p = 561": ">= 5",
    "watched learning / learning, one by one, p = 561": "< 1.1",
}


def task_of(p: int, q: int | None = None, slices: int = SLICES, check: float | None = None) -> Task:
    """One report on all features, or on q numbers that a public map makes of them, with a check or
    without; the clip is where about half of the records of the benchmark are."""
    table = {
        "name": "learning",
        "features": {"names": [f"x{j}" for j in range(p)]},
        "response": {"classes": [f"class {h}" for h in range(slices)]},
        "clip": {"truncate": 3.0, "norm": 0.99 * (q or p) ** 0.5},
        "privacy": {"epsilon": 1.0},
        "report": {"records": 1000},
    }
    if q is None:
        return task_from_table(table)
    public = _public(p, q, slices) | ({} if check is None else {"check": check})
    return task_from_table(table | {"public": public})


def _public(p: int, q: int, slices: int) -> dict[str, object]:
    rng = np.random.default_rng(1)
    return {
        "records": 300,
        "coordinates": q,
        "centres": pack(0.1 * rng.normal(size=(slices, q))),
        "shares": [1.0 / slices] * slices,
        "map": pack(rng.normal(size=(p, q)) / p**0.5),
    }


def seconds(*works: Callable[[], None], rounds: int = 5) -> list[float]:
    """The shortest processor time of each;
    they take turns, so that a busy machine slows all of them alike."""
    best = [float("inf")] * len(works)
    for _ in range(rounds):
        for i, work in enumerate(works):
            start = time.process_time()
            work()
            best[i] = min(best[i], time.process_time() - start)
    return best


def measure(p: int) -> dict[str, float]:
    """The figures for p features."""
    task = task_of(p)
    rng = np.random.default_rng(0)
    stage = first_stage(task)
    rows = BATCH * BATCHES[p]
    X = rng.normal(size=(rows, p))
    h = rng.integers(SLICES, size=rows)
    one_hot = np.eye(SLICES)[h]
    labels = np.array(task.response.classes)[h]
    batches = [slice(start, start + BATCH) for start in range(0, rows, BATCH)]

    def bare() -> None:
        S = np.zeros((p, p))
        G = np.zeros((p, SLICES))
        for batch in batches:
            S += X[batch].T @ X[batch]
            G += X[batch].T @ one_hot[batch]

    def learning() -> None:
        moments = Moments(task, stage)
        for batch in batches:
            moments.learn_many(X[batch], labels[batch])
        moments.sums()

    def components(kept: int | None) -> None:
        peer = IncrementalPCA(n_components=kept)
        for batch in batches:
            peer.partial_fit(X[batch])

    with threadpool_limits(1):
        t_bare, t_learning = seconds(bare, learning, rounds=ROUNDS[p])
        t_beside, t_peer, t_ten = seconds(
            learning, lambda: components(None), lambda: components(10)
        )
    return {
        f"learning / bare products, p = {p}": t_bare / t_learning,
        f"learning / IncrementalPCA, p = {p}": t_peer / t_beside,
        f"learning / IncrementalPCA with 10 components, p = {p}": t_ten / t_beside,
        f"records per second, p = {p}": rows / t_learning,
    }


def measure_map(
    name: str, slices: int = SLICES, check: float | None = None, p: int = 561, q: int = COORDINATES
) -> dict[str, float]:
    """The figures for p features that a public map turns into q numbers, and perhaps a check."""
    task = task_of(p, q, slices, check)
    rng = np.random.default_rng(0)
    stage = first_stage(task)
    P = rng.normal(size=(p, q))
    rows = BATCH * BATCHES[p]
    X = rng.normal(size=(rows, p))
    h = rng.integers(slices, size=rows)
    one_hot = np.eye(slices)[h]
    labels = np.array(task.response.classes)[h]
    batches = [slice(start, start + BATCH) for start in range(0, rows, BATCH)]

    def bare() -> None:
        S = np.zeros((q, q))
        G = np.zeros((q, slices))
        for batch in batches:
            mapped = X[batch] @ P
            S += mapped.T @ mapped
            G += mapped.T @ one_hot[batch]

    # Setting a map up is done once for a report: not part of the rate.
    moments = Moments(task, stage)

    def learning() -> None:
        for batch in batches:
            moments.learn_many(X[batch], labels[batch])
        moments.sums()

    with threadpool_limits(1):
        t_bare, t_learning = seconds(bare, learning)
    return {
        f"learning / bare products, {name}": t_bare / t_learning,
        f"records per second, {name}": rows / t_learning,
    }


def measure_watch(p: int, q: int | None = None) -> dict[str, float]:
    """How much longer learning takes with watching, over one report."""
    task = task_of(p, q)
    stage = first_stage(task)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(REPORT, p))
    labels = np.array(task.response.classes)[rng.integers(SLICES, size=REPORT)]
    records = [dict(zip(task.features.names, row, strict=True)) for row in X.tolist()]
    # What is set up once for a report is not part of the rate.
    counts: list[Counts] = []
    enough = Threshold(task).enough(REPORT, FEW_SHARE)
    plain = Moments(task, stage)
    watched = Moments(task, stage, lambda rows, slices: counts[0].add(rows, slices))

    def one_by_one(moments: Moments) -> None:
        counts[:] = [Counts(task, stage, enough)] if moments is watched else []
        for record, label in zip(records, labels.tolist(), strict=True):
            moments.learn_one(record, label)
        moments.sums()

    def batches(moments: Moments) -> None:
        counts[:] = [Counts(task, stage, enough)] if moments is watched else []
        for start in range(0, REPORT, BATCH):
            block = slice(start, start + BATCH)
            moments.learn_many(X[block], labels[block])
        moments.sums()

    with threadpool_limits(1):
        t_one, t_one_watched, t_many, t_many_watched = seconds(
            lambda: one_by_one(plain),
            lambda: one_by_one(watched),
            lambda: batches(plain),
            lambda: batches(watched),
            rounds=15,
        )
    name = f"p = {p}" if q is None else f"p = {p} mapped to {q}"
    return {
        f"watched learning / learning, one by one, {name}": t_one_watched / t_one,
        f"watched learning / learning, in batches, {name}": t_many_watched / t_many,
    }


def run() -> dict[str, float]:
    """All sizes, and a public map without and with a check."""
    figures = {figure: value for p in BATCHES for figure, value in measure(p).items()}
    figures |= measure_watch(10) | measure_watch(561) | measure_watch(561, COORDINATES)
    figures |= measure_map(_MAPPED)
    return figures | measure_map(_CHECKED, CHECKED_SLICES, check=10.0)
