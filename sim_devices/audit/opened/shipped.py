"""Whether the shipped code opens the law that the proof is about, from integers alone.

A report is released with noise of the operating system, split, sealed, opened by both aggregators
with real keys, and added to those of hostile devices, whose numbers everybody knows. One of the
aggregators is honest, in turn; the other adds nothing. Then every number that is left has a known
exact law, and becomes a standard normal by its distribution function.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy import stats

from fsir.arrays import Integers, Matrix
from fsir.contract import task_from_table
from fsir.privacy.accounting import mu_of
from fsir.privacy.moments import Moments
from fsir.privacy.noise import SystemNoise
from fsir.privacy.plan import first_stage
from fsir.privacy.release import Release, release
from fsir.secure.keys import KeyPair
from fsir.secure.opening import noised_sum, opened
from fsir.secure.report import ShareReader, sealed_report
from fsir.task.secure import ROLES, public_half
from fsir.wire.shared import Shared
from sim_devices.audit.finding import RISK, Finding
from sim_devices.audit.mechanisms import Tap
from sim_devices.audit.opened import views
from sim_devices.audit.opened.integers import IntegerLaw, rounded

COHORT = 4
_FEATURES = 4
_BUDGET = (1.0, 1e-6)
_RECORDS = np.sin(np.arange(9.0 * _FEATURES)).reshape(9, _FEATURES)
_TESTS = 5  # of each of two views


def of_opening(runs: int, rng: np.random.Generator) -> Finding:
    """The exact bound, and what is wrong with sums that were really opened."""
    answer = views.asked("one-honest", *_BUDGET, COHORT)
    note = f"{2 * runs} reports were shared, sealed and opened"
    faults = tuple(faults_in(runs, rng))
    return replace(answer, mechanism="opened (shipped)", note=note, faults=faults)


def faults_in(runs: int, rng: np.random.Generator) -> list[str]:
    """What the integers of so many openings say against the law."""
    opening = Opening()
    sums = np.stack([opening.once(honest=ROLES[run % 2]) for run in range(runs)])
    alone = np.stack([opening.alone() for _ in range(runs)])
    seen = (
        ("an opened sum", sums, opening.laws(with_aggregator=True)),
        ("a report that both open", alone, opening.laws(with_aggregator=False)),
    )
    return [
        f"{what}: {fault}"
        for what, drawn, laws in seen
        for fault in _faults(_normals(drawn, laws, rng))
    ]


class Opening:
    """One device with fixed records among hostile ones, and two aggregators."""

    def __init__(self) -> None:
        pairs = {role: KeyPair.new(role) for role in ROLES}
        keys = {role: public_half(pair.party.key) or b"" for role, pair in pairs.items()}
        self._task = task_from_table(views.table_of(_FEATURES, *_BUDGET, COHORT, keys))
        self._stage = first_stage(self._task)
        self._moments = Moments(self._task, self._stage)
        self._moments.learn_many(_RECORDS, ["0", "1", "1"] * 3)
        self._readers = {
            role: ShareReader(self._task, self._stage, role, pair) for role, pair in pairs.items()
        }
        # Hostile devices say zero: any other known numbers would be taken away again.
        released = release(self._moments, SystemNoise())
        sums, counts, diagonal, off_diagonal = map(np.zeros_like, released.blocks)
        zero = Release(released.n, (sums, counts, diagonal, off_diagonal))
        self._hostile = [
            sealed_report(self._task, self._stage, f"sybil-{i}", zero) for i in range(1, COHORT)
        ]

    def once(self, honest: str) -> Integers:
        """What is opened of the device and the hostile ones if one aggregator adds its noise."""
        reports = [self._report(), *self._hostile]
        sums = []
        for role, reader in self._readers.items():
            shares = [reader.share(reader.payload(report)) for report in reports]
            noised = noised_sum(self._stage, reader.ring, shares, SystemNoise())
            sums.append(noised if role == honest else reader.ring.added(shares))
        return opened(reader.ring, *sums)

    def alone(self) -> Integers:
        """What both aggregators see of the device if they put their shares together."""
        report = self._report()
        shares = [reader.share(reader.payload(report)) for reader in self._readers.values()]
        return opened(self._readers[ROLES[0]].ring, *shares)

    def _report(self) -> Shared:
        released = release(self._moments, SystemNoise())
        return sealed_report(self._task, self._stage, "device", released)

    def laws(self, *, with_aggregator: bool) -> list[IntegerLaw]:
        """The law of every number, from the budget by theorem 1 and from the exact sums."""
        tap = Tap()
        release(self._moments, tap)
        laws = []
        for block, exact, s in zip(self._stage.blocks, tap.values, self._scales(), strict=True):
            noise = rounded(0.0, s / block.worth)
            own = s / math.sqrt(COHORT) / block.worth
            for value in exact:
                law = rounded(float(value) / block.step, own)
                laws.append(law.plus(noise) if with_aggregator else law)
        return laws

    def _scales(self) -> tuple[float, float, float, float]:
        C = self._task.clip.norm
        s_M = 2.0 * C / mu_of(*_BUDGET)
        return s_M, math.sqrt(2.0) * s_M / C, math.sqrt(2.0) * C * s_M, C * s_M


def _normals(drawn: Integers, laws: list[IntegerLaw], rng: np.random.Generator) -> Matrix:
    """Numbers x runs, standard normal if each column of `drawn` follows its law."""
    columns = zip(drawn.T, laws, strict=True)
    return np.stack(
        [stats.norm.ppf(law.uniform(column, rng.random(len(drawn)))) for column, law in columns]
    )


def _faults(normals: Matrix) -> list[str]:
    """Centre, scatter and shape of all, and what neighbours or runs share."""
    everything = normals.reshape(-1)
    count = everything.size
    scatter = float((everything**2).sum())
    neighbours = float((normals[1:] * normals[:-1]).mean() * math.sqrt(normals[1:].size))
    runs = float((normals[:, 1:] * normals[:, :-1]).mean() * math.sqrt(normals[:, 1:].size))
    by_chance = {
        "its centre is not where it should be": _two_sided(everything.sum() / math.sqrt(count)),
        f"its noise has {math.sqrt(scatter / count):.3g} of its sd": 2.0
        * min(stats.chi2.cdf(scatter, count), stats.chi2.sf(scatter, count)),
        "its noise has another shape": stats.kstest(everything, "norm").pvalue,
        "numbers share their noise": _two_sided(neighbours),
        "openings share their noise": _two_sided(runs),
    }
    level = RISK / (2 * _TESTS)
    return [f"{fault} (by chance: {p:.0e})" for fault, p in by_chance.items() if p < level]


def _two_sided(z: float) -> float:
    return float(2.0 * stats.norm.sf(abs(z)))
