"""Do the numbers of many rounds have the noise that the proof is about, and take it back later?

Each device has a key of its own. Its published integers, with the exact sums taken away and the
noise of all rounds undone by coefficients that are computed here from binomials, are standard
normals up to rounding, independent of each other. Rounding adds at most `_ROUNDED` to their
variances and correlations, and both are compared with that much room.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
from scipy import stats

from fsir.arrays import Matrix
from fsir.privacy import plan
from fsir.privacy.noise import SystemNoise
from fsir.privacy.release import release
from fsir.privacy.rounds.correlated import key_for, round_noise
from fsir.task.task import Task
from sim_devices.audit.finding import RISK, Bound, Finding
from sim_devices.audit.mechanisms import learned
from sim_devices.audit.pairs import Records
from sim_devices.audit.rounds.questions import blocks_of, records_of, task_of
from sim_devices.audit.shipped.reference import expected

# The integers of one more device: rounds x numbers.
Device = Callable[[Task, Records], Matrix]
_ROUNDS = 6
_ROUNDED = 0.005  # at most 2 (1/16)^2/3 of a variance, for eight steps to a standard deviation
_FAMILIES = 4
_LEVEL = RISK / _FAMILIES
_SHOWN = 3  # faults of a family that are told


def by_release(task: Task, records: Records) -> Matrix:
    """All rounds of a device with a key from the system, as the library makes them."""
    key = key_for(task.rounds)
    return _integers(task, records, lambda _: key)


def by_other_keys(task: Task, records: Records) -> Matrix:
    """A device that has lost its key before every round, and draws another one."""
    return _integers(task, records, key_for)


def of_reports(device: Device, runs: int, name: str, rounds: int = _ROUNDS) -> Finding:
    """Whether so many devices publish the law of theorem 13."""
    task = task_of(rounds)
    records = records_of(task)
    published = np.array([device(task, records) for _ in range(runs)], dtype=np.float64)
    return Finding(
        mechanism="rounds",
        pair=name,
        epsilon=task.privacy.epsilon,
        delta=task.privacy.delta,
        bound=Bound(0.0, 0.0, 1.0, f"the fit of {runs} devices, and nothing else"),
        faults=tuple(misfits(undone(task, records, published))),
    )


def undone(task: Task, records: Records, published: Matrix) -> Matrix:
    """The normals behind the integers of devices: devices x rounds x numbers."""
    r = [math.comb(2 * k, k) / 4.0**k for k in range(task.rounds)]
    norm = math.sqrt(math.fsum(c * c for c in r))
    laws = [
        expected(task, plan.FINAL, (block.X, [str(h) for h in block.slices]))
        for block in blocks_of(task, records)
    ]
    away = published * laws[0].worth - np.array([law.mean for law in laws])
    C = np.array([[r[t - s] if t >= s else 0.0 for s in range(len(r))] for t in range(len(r))])
    return np.asarray(np.einsum("ts,dsk->dtk", C, away / (norm * laws[0].sd)))


def misfits(Z: Matrix) -> list[str]:
    """What contradicts independent standard normals, in words."""
    half = len(Z) // 2
    families = (
        _scatter(Z),
        _between("rounds", Z.swapaxes(0, 1), 1),
        _between("numbers", np.moveaxis(Z, 2, 0), 0),
        _shared("two devices", Z[:half], Z[half : 2 * half], 1),
    )
    return [fault for family in families for fault in list(family)[:_SHOWN]]


def _scatter(Z: Matrix) -> Iterator[str]:
    """What each round adds to the noise."""
    devices, rounds, numbers = Z.shape
    law = stats.chi2(devices * numbers)
    for t, total in enumerate((Z * Z).sum(axis=(0, 2)), 1):
        chance = 2.0 * min(law.cdf(total), law.sf(total / (1.0 + _ROUNDED)))
        if chance < _LEVEL / rounds:
            sd = math.sqrt(total / (devices * numbers))
            yield f"round {t}: what is its own of the noise has {sd:.3g} of its sd{_by(chance)}"


def _between(what: str, parts: Matrix, first: int) -> Iterator[str]:
    """No two rounds share what is their own, and no two numbers; the first has this index."""
    pairs = list(combinations(range(len(parts)), 2))
    for s, t in pairs:
        yield from _shared(f"{what} {s + first} and {t + first}", parts[s], parts[t], len(pairs))


def _shared(who: str, one: Matrix, other: Matrix, comparisons: int) -> Iterator[str]:
    r = float(np.corrcoef(one.ravel(), other.ravel())[0, 1])
    freedom = one.size - 2
    inside = min(max(0.0, abs(r) - _ROUNDED), 1.0 - 1e-12)
    chance = 2.0 * float(stats.t.sf(inside * math.sqrt(freedom / (1.0 - inside**2)), freedom))
    if chance < _LEVEL / comparisons:
        yield f"{who}: what is their own of the noise is correlated by {r:+.3g}{_by(chance)}"


def _by(chance: float) -> str:
    return f" (by chance: {max(chance, 1e-300):.0e})"


def _integers(task: Task, records: Records, key_of: Callable[[int], bytes]) -> Matrix:
    stage = plan.first_stage(task)
    rows = []
    for t, block in enumerate(blocks_of(task, records), 1):
        noise = round_noise(SystemNoise(), stage, t, key_of(t))
        rows.append(np.concatenate(release(learned(task, stage, block), noise).blocks))
    return np.array(rows)
