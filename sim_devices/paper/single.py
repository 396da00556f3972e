"""One cell on its own: the same numbers as in the run of all cells."""

from __future__ import annotations

from typing import get_args

from sim_devices.paper.cells import Cell, ExperimentError
from sim_devices.paper.high import HighMechanism, HighReplication
from sim_devices.paper.low import Mechanism, Replication, Setup
from sim_devices.paper.profiles import Profile
from sim_devices.paper.summary import Mean, mean_of
from sim_devices.paper.tables import Value


def run_cell(cell: Cell, mechanism: str, profile: Profile, replications: int, seed: int) -> Mean:
    """Mean over replications of one cell and mechanism."""
    values = [
        _value(cell, mechanism, profile, replication, seed) for replication in range(replications)
    ]
    return mean_of(values)


def _value(cell: Cell, mechanism: str, profile: Profile, replication: int, seed: int) -> Value:
    place = (cell.epsilon, cell.n, cell.clients, mechanism)
    if cell.setting == "low":
        chosen = next((name for name in get_args(Mechanism) if name == mechanism), None)
        if chosen is None:
            raise ExperimentError(
                f"--mechanism {mechanism}: only in high dimension; add --setting high"
            )
        run = Replication(replication, seed, [cell], Setup((chosen,), profile))
        return Value(*place, run.losses()[cell, chosen])
    way: HighMechanism = next(name for name in get_args(HighMechanism) if name == mechanism)
    found = HighReplication(
        cell.model, cell.p, replication, seed, [cell], [way], profile
    ).outcomes()[cell, way]
    return Value(*place, found.loss, found.recall, found.size)
