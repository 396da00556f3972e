"""All 560 cells, replication by replication: parallel, resumable, summed up as CSV and Markdown.

The unit of work is one replication of one model (and one p in high dimension). Each finished unit
is one line of a JSONL file; a run that is stopped goes on where it was, and a run with more
replications adds to it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path

from sim_devices.datasets.models import MODELS, Model
from sim_devices.paper.cells import HIGH_PS, LOW_P, Cell, ExperimentError, cells
from sim_devices.paper.high import HIGH_MECHANISMS, HighReplication
from sim_devices.paper.low import Replication, Setup

QUICK = {"low": 40, "high": 10}
PUBLISHED = {"low": 400, "high": 10}


@dataclass(frozen=True)
class Unit:
    """One replication of all cells that share their data."""

    setting: str
    model: Model
    p: int
    replication: int


@dataclass(frozen=True)
class Value:
    """What one replication gave in one cell; `recall` and `size` of the active set in high
    dimension."""

    epsilon: float
    n: int
    clients: int
    mechanism: str
    loss: float
    recall: float | None = None
    size: int | None = None


def units(replications: dict[str, int]) -> list[Unit]:
    """Everything to be done, the low-dimensional setting first."""
    low = [Unit("low", model, LOW_P, r) for r in range(replications["low"]) for model in MODELS]
    high = [
        Unit("high", model, p, r)
        for r in range(replications["high"])
        for p in HIGH_PS
        for model in MODELS
    ]
    return low + high


def run_unit(unit: Unit, seed: int) -> list[Value]:
    """Compute one unit."""
    wanted = [cell for cell in cells(unit.setting) if cell.model == unit.model and cell.p == unit.p]
    if unit.setting == "low":
        losses = Replication(unit.replication, seed, wanted, Setup()).losses()
        return [
            Value(*_place(cell), mechanism, round(loss, 6))
            for (cell, mechanism), loss in losses.items()
        ]
    outcomes = HighReplication(
        unit.model, unit.p, unit.replication, seed, wanted, HIGH_MECHANISMS
    ).outcomes()
    return [
        Value(*_place(cell), mechanism, round(found.loss, 6), found.recall, found.size)
        for (cell, mechanism), found in outcomes.items()
    ]


def _place(cell: Cell) -> tuple[float, int, int]:
    return cell.epsilon, cell.n, cell.clients


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
    # One thread of linear algebra per process; spawned children read this when they load it.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(run_unit, unit, seed): unit for unit in missing}
        for future in as_completed(futures):
            yield futures[future], future.result()


def read(path: Path, seed: int) -> Iterator[tuple[Unit, list[Value]]]:
    """The finished units of a results file; a last line that a crash cut short is computed
    again."""
    if not path.exists():
        return
    lines = path.read_text("utf-8").splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        if not line.endswith("\n"):
            path.write_text("".join(lines[:-1]), "utf-8")
            return
        try:
            entry = json.loads(line)
            found, unit = entry["seed"], Unit(**entry["unit"])
            values = [Value(*value) for value in entry["values"]]
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise ExperimentError(
                f"{path}, line {number}: not a result ({error}); give another --out"
            ) from None
        if found != seed:
            raise ExperimentError(
                f"{path} holds results of seed {found}, not {seed}; give another --out"
            )
        yield unit, values
