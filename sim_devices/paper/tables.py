"""All 560 cells, replication by replication: parallel, resumable, summed up as CSV and Markdown.

The unit of work is one replication of one model (and one p in high dimension). Each finished unit
is one line of a JSONL file; a run that is stopped goes on where it was, and a run with more
replications adds to it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, fields
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from sim_devices.cores import one_thread_each
from sim_devices.datasets.models import MODELS, Model
from sim_devices.paper import high, low
from sim_devices.paper.cells import HIGH_PS, LOW_P, Cell, ExperimentError, cells
from sim_devices.paper.high import HighReplication
from sim_devices.paper.low import Replication, Setup

QUICK = {"low": 40, "high": 10}
PUBLISHED = {"low": 400, "high": 10}
LOCAL = "local"  # the paper's tables
SECURE = "secure"  # what two aggregators open, beside the same with local noise
_MECHANISMS = {LOCAL: low.MECHANISMS, SECURE: low.SHARED_MECHANISMS}
_HIGH_MECHANISMS = {LOCAL: high.HIGH_MECHANISMS, SECURE: high.SHARED_MECHANISMS}


@dataclass(frozen=True)
class Unit:
    """One replication of all cells that share their data."""

    setting: str
    model: Model
    p: int
    replication: int
    trust: str = LOCAL


@dataclass(frozen=True, kw_only=True)
class Value:
    """What one replication gave in one cell;
    `recall` and `size` of the active set in high dimension."""

    epsilon: float
    n: int
    clients: int
    mechanism: str
    loss: float
    recall: float | None = None
    size: int | None = None


def units(replications: dict[str, int], trust: str = LOCAL) -> list[Unit]:
    """Everything to be done, the low-dimensional setting first."""
    few = [
        Unit("low", model, LOW_P, r, trust) for r in range(replications["low"]) for model in MODELS
    ]
    many = [
        Unit("high", model, p, r, trust)
        for r in range(replications["high"])
        for p in HIGH_PS
        for model in MODELS
    ]
    return few + many


def wanted_cells(setting: str, trust: str) -> list[Cell]:
    """The cells of a setting: all, or those with enough clients for a sum to hide anybody."""
    return [cell for cell in cells(setting) if trust == LOCAL or cell.clients > 1]


def run_unit(unit: Unit, seed: int) -> list[Value]:
    """Compute one unit."""
    wanted = [
        cell
        for cell in wanted_cells(unit.setting, unit.trust)
        if cell.model == unit.model and cell.p == unit.p
    ]
    if unit.setting == "low":
        setup = Setup(mechanisms=_MECHANISMS[unit.trust])
        losses = Replication(unit.replication, seed, wanted, setup).losses()
        return [_value(cell, mechanism, loss) for (cell, mechanism), loss in losses.items()]
    mechanisms = _HIGH_MECHANISMS[unit.trust]
    outcomes = HighReplication(unit.replication, seed, wanted, mechanisms).outcomes()
    return [
        _value(cell, mechanism, outcome.loss, outcome.recall, outcome.size)
        for (cell, mechanism), outcome in outcomes.items()
    ]


def _value(
    cell: Cell, mechanism: str, loss: float, recall: float | None = None, size: int | None = None
) -> Value:
    return Value(
        epsilon=cell.epsilon,
        n=cell.n,
        clients=cell.clients,
        mechanism=mechanism,
        loss=round(loss, 6),
        recall=recall,
        size=size,
    )


def run(
    wanted: list[Unit], path: Path, seed: int, workers: int, advanced: Callable[[int, int], None]
) -> dict[Unit, list[Value]]:
    """Compute what `path` does not hold yet; `advanced(done, all)` is called after every unit."""
    done = {unit: values for unit, values in read(path, seed) if unit in set(wanted)}
    missing = [unit for unit in wanted if unit not in done]
    advanced(len(done), len(wanted))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for unit, values in _computed(missing, seed, workers):
            line = {
                "seed": seed,
                "unit": asdict(unit),
                "values": [list(asdict(value).values()) for value in values],
            }
            file.write(json.dumps(line) + "\n")
            file.flush()
            done[unit] = values
            advanced(len(done), len(wanted))
    return done


def _computed(missing: list[Unit], seed: int, workers: int) -> Iterator[tuple[Unit, list[Value]]]:
    if workers == 1:
        yield from ((unit, run_unit(unit, seed)) for unit in missing)
        return
    one_thread_each()  # who is spawned reads it
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(run_unit, unit, seed): unit for unit in missing}
        for future in as_completed(futures):
            yield futures[future], future.result()


def read(path: Path, seed: int) -> Iterator[tuple[Unit, list[Value]]]:
    """The finished units of a results file;
    a last line that a crash cut short is computed again."""
    if not path.exists():
        return
    lines = path.read_text("utf-8").splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        if not line.endswith("\n"):
            path.write_text("".join(lines[:-1]), "utf-8")
            return
        try:
            entry = json.loads(line)
            its_seed = entry["seed"]
            unit = Unit(**entry["unit"])
            values = [_read_value(row) for row in entry["values"]]
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise ExperimentError(
                f"{path}, line {number}: not a result ({error}); give another --out"
            ) from None
        if its_seed != seed:
            raise ExperimentError(
                f"{path} holds results of seed {its_seed}, not {seed}; give another --out"
            )
        yield unit, values


def _read_value(row: list[Any]) -> Value:
    """A value as it stands in a results file: its fields in order."""
    return Value(**dict(zip((field.name for field in fields(Value)), row, strict=False)))
