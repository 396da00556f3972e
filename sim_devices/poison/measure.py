"""One cell of the table: a federation in which some devices lie as badly as they can."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fsir.arrays import Matrix
from sim_devices.poison.aggregation import AGGREGATIONS, Aggregation
from sim_devices.poison.attack import Admission, Search
from sim_devices.poison.outcome import Estimator, angle, loss
from sim_devices.poison.population import Draw, Population, Setting

STARTS = 3
ROUNDS = 12


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What `liars` of the devices achieve against one aggregation;
    without liars, what the aggregation costs."""

    aggregation: str
    liars: int
    loss: float  # mean projection loss to the truth, from 0 to sqrt(2 d)
    standard_error: float
    angle: float  # mean largest angle to the estimate without lies, in degrees


class Measurement:
    """The draws that all cells of a setting share:
    some for the liars to plan on, others to try it on."""

    def __init__(self, setting: Setting, seed: int, plans: int, tries: int) -> None:
        self.setting = setting
        self._seed = seed
        population = Population(setting)
        self._stage = population.stage
        rng = np.random.default_rng([seed, setting.devices])
        self._plans: Sequence[Draw] = [population.draw(rng) for _ in range(plans)]
        self._tries: Sequence[Draw] = [population.draw(rng) for _ in range(tries)]
        honest = np.mean([draw.rows.mean(axis=0) for draw in self._plans], axis=0)
        self._admission = Admission(self._stage, setting.n, honest)

    def cells(self, aggregations: Sequence[str], liars: Sequence[int]) -> Iterator[Measured]:
        """All cells, one after the other."""
        for name in aggregations:
            for count in liars:
                yield self.cell(AGGREGATIONS[name], count)

    def cell(self, aggregate: Aggregation, liars: int) -> Measured:
        """One cell."""
        s = self.setting
        estimate = Estimator(
            stage=self._stage,
            devices=s.devices,
            n=s.n,
            d=s.d,
            inflation=aggregate.inflation(s.devices),
        )
        truth = np.stack([draw.truth for draw in self._tries])
        honest = estimate(aggregate(np.stack([draw.rows for draw in self._tries])))
        basis = self._poisoned(aggregate, estimate, liars) if liars else honest
        losses = loss(basis, truth)
        return Measured(
            aggregation=aggregate.name,
            liars=liars,
            loss=float(losses.mean()),
            standard_error=(
                float(losses.std(ddof=1) / len(losses) ** 0.5) if len(losses) > 1 else 0.0
            ),
            angle=float(angle(basis, honest).mean()),
        )

    def _poisoned(self, aggregate: Aggregation, estimate: Estimator, liars: int) -> Matrix:
        """The estimates on the draws to try, with the worst report that was planned elsewhere."""
        rng = np.random.default_rng([self._seed, self.setting.devices, liars])
        plan = Search(self._plans, liars, aggregate, estimate, self._admission)
        report = plan.run(rng, STARTS, ROUNDS)
        attack = Search(self._tries, liars, aggregate, estimate, self._admission)
        return estimate(attack.merged(report))


def liars_of(devices: int, shares: Sequence[float]) -> list[int]:
    """How many liars the shares are, at least one each, and nobody as the first."""
    return [0, *sorted({max(1, round(share * devices)) for share in shares})]
