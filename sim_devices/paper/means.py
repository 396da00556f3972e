"""From replications to means: of every cell, or of one cell that is run on its own."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import get_args

from sim_devices.paper.cells import Cell, ExperimentError
from sim_devices.paper.high import HighMechanism, HighReplication
from sim_devices.paper.low import Mechanism, Replication, Setup
from sim_devices.paper.profiles import Profile
from sim_devices.paper.tables import Unit, Value


@dataclass(frozen=True, kw_only=True)
class Mean:
    """The replications of one cell and mechanism."""

    loss: float
    standard_error: float
    replications: int
    recall: float | None
    size: float | None


Means = Mapping[tuple[Cell, str], Mean]


def means(results: Mapping[Unit, Sequence[Value]]) -> Means:
    """Average over replications."""
    grouped: dict[tuple[Cell, str], list[Value]] = defaultdict(list)
    for unit in sorted(results, key=_order):
        for value in results[unit]:
            grouped[_cell(unit, value), value.mechanism].append(value)
    return {key: mean_of(values) for key, values in grouped.items()}


def _order(unit: Unit) -> tuple[str, str, int, int]:
    return unit.setting, unit.model, unit.p, unit.replication


def _cell(unit: Unit, value: Value) -> Cell:
    return Cell(
        setting=unit.setting,
        model=unit.model,
        epsilon=value.epsilon,
        p=unit.p,
        n=value.n,
        clients=value.clients,
    )


def mean_of(values: Sequence[Value]) -> Mean:
    """Mean loss with its standard error; recall and size where there is an active set."""
    losses = [value.loss for value in values]
    recalls = [value.recall for value in values if value.recall is not None]
    sizes = [value.size for value in values if value.size is not None]
    return Mean(
        loss=fmean(losses),
        standard_error=stdev(losses) / math.sqrt(len(losses)) if len(losses) > 1 else math.nan,
        replications=len(losses),
        recall=fmean(recalls) if recalls else None,
        size=fmean(sizes) if sizes else None,
    )


def run_cell(cell: Cell, mechanism: str, profile: Profile, replications: int, seed: int) -> Mean:
    """Mean over replications of one cell and mechanism:
    the same numbers as in the run of all cells."""
    run = _low if cell.setting == "low" else _high
    return mean_of([run(cell, mechanism, profile, k, seed) for k in range(replications)])


def _low(cell: Cell, mechanism: str, profile: Profile, replication: int, seed: int) -> Value:
    chosen = next((name for name in get_args(Mechanism) if name == mechanism), None)
    if chosen is None:
        raise ExperimentError(
            f"--mechanism {mechanism}: only in high dimension; add --setting high"
        )
    run = Replication(replication, seed, [cell], Setup(mechanisms=(chosen,), profile=profile))
    return Value(
        epsilon=cell.epsilon,
        n=cell.n,
        clients=cell.clients,
        mechanism=mechanism,
        loss=run.losses()[cell, chosen],
    )


def _high(cell: Cell, mechanism: str, profile: Profile, replication: int, seed: int) -> Value:
    chosen: HighMechanism = next(name for name in get_args(HighMechanism) if name == mechanism)
    outcome = HighReplication(replication, seed, [cell], [chosen], profile).outcome(cell, chosen)
    return Value(
        epsilon=cell.epsilon,
        n=cell.n,
        clients=cell.clients,
        mechanism=mechanism,
        loss=outcome.loss,
        recall=outcome.recall,
        size=outcome.size,
    )
