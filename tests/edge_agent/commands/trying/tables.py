"""A task that a volunteer proposes, and the records of a stranger as a table, with faults."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tomli_w

from fsir.contract import task_from_table
from fsir.proposal.constants import Expectation
from fsir.proposal.proposal import propose
from fsir.task.public_map import as_text
from fsir.task.slicing import Slicing
from fsir.task.task import Task
from sim_devices.datasets.population import DeviceStream, Population


def names_of(people: Population) -> list[str]:
    """The names of all features, without the commas that some of HAR have."""
    return [name.replace(",", "_") for name in people.features]


def proposed(people: Population, volunteer: DeviceStream) -> Task:
    """What `fsir-aggregator task new` would make of a volunteer's records."""
    varies = volunteer.X.std(axis=0) > 1e-9
    slices = Slicing(people.classes).slices_of(volunteer.y)
    expected = Expectation(devices=20, records=300, epsilon=1.0)
    sections = propose(volunteer.X[:, varies], slices, len(people.classes), expected).sections
    names = [name for name, use in zip(names_of(people), varies, strict=True) if use]
    return task_from_table(
        {
            **sections,
            "name": "activity",
            "features": {"names": names, **sections["features"]},
            "response": {"name": "activity", "classes": list(people.classes)},
            "privacy": {"epsilon": 1.0, **sections["privacy"]},
            "report": {"records": 300},
        }
    )


@dataclass
class Recorded:
    """The table of one person, before it is written; faults change it."""

    header: list[str]
    X: np.ndarray
    y: list[str]
    separator: str = ","
    time_unit: float | None = None  # of a column `time`, in seconds

    def columns(self, *parts: str) -> list[int]:
        """Those whose names have all these parts."""
        return [k for k, name in enumerate(self.header[:-1]) if all(part in name for part in parts)]

    def write(self, path: Path) -> Path:
        with path.open("w", newline="", encoding="utf-8") as file:
            table = csv.writer(file, delimiter=self.separator)
            timed = self.time_unit is not None
            table.writerow([*(["time"] if timed else []), *self.header])
            for k, (row, label) in enumerate(zip(self.X.tolist(), self.y, strict=True)):
                time = [repr(round((1.7e9 + 1.28 * k) / self.time_unit))] if timed else []
                table.writerow([*time, *map(repr, row), label])
        return path


def recorded(people: Population, person: DeviceStream, of: Task, seed: int = 0) -> Recorded:
    """The records of a person in an order in which all activities come soon."""
    order = np.random.default_rng(seed).permutation(len(person))
    columns = [names_of(people).index(name) for name in of.features.names]
    return Recorded(
        header=[*of.features.names, "activity"],
        X=person.X[np.ix_(order, columns)],
        y=person.y[order].tolist(),
    )


def write_task(of: Task, path: Path) -> Path:
    path.write_text(tomli_w.dumps(as_text(of.table())), encoding="utf-8")
    return path


# --- ten faults -----------------------------------------------------------------------------------


def renamed(table: Recorded) -> str:
    name = "tGravityAcc-mean()-X"
    table.header[table.header.index(name)] = "tGravityAcc_mean_X"
    missing = (
        f"1 of {len(table.header)} columns is missing: '{name}' (is 'tGravityAcc_mean_X' meant?)"
    )
    return f"{missing}; rename them in the source"


def other_unit(table: Recorded) -> str:
    table.X[:, table.columns("tGravityAcc-mean()")] *= 1000.0
    names = ", ".join(f"tGravityAcc-mean()-{axis}" for axis in "XYZ")
    return f"{names}: 1000 times too large? give the values in the unit that the task was made with"


def constant(table: Recorded) -> str:
    table.X[:, table.columns("Gyro")] = 0.25
    return "...: the same value in all 200 records; is a sensor stuck?"


def exchanged(table: Recorded) -> str:
    for k in table.columns("-X"):
        if not table.header[k].endswith("-X"):
            continue
        other = table.header.index(f"{table.header[k][:-1]}Y")
        table.X[:, [k, other]] = table.X[:, [other, k]]
    return (
        "each fits in the other's place and neither in its own; are columns exchanged, "
        "or axes turned?"
    )


def half_missing(table: Recorded) -> str:
    table.X[::2, 7] = np.nan
    return (
        f"100 of 200 records cannot be used: {table.header[7]!r}: NaN where a finite number should "
        "be; leave such records out at the source; first in record 0, line 2"
    )


def one_class(table: Recorded) -> str:
    chosen = [k for k, label in enumerate(table.y) if label == "STANDING"]
    table.X = table.X[chosen]
    table.y = ["STANDING"] * len(chosen)
    return (
        f"all {len(chosen)} records are of one class of 'activity', 'STANDING'; the task tells 6 "
        "apart: are the labels right, and is the source long enough?"
    )


def shuffled(table: Recorded) -> str:
    table.y = np.random.default_rng(1).permutation(table.y).tolist()
    return "the labels do not fit the records: what is public names"


def separator(table: Recorded) -> str:
    table.separator = " "
    return "the names of the columns are separated by spaces, which is not how the table is read"


def twice(table: Recorded) -> str:
    table.header[5] = table.header[4]
    return table.header[4]


def milliseconds(table: Recorded) -> str:
    table.time_unit = 1e-3
    return (
        "--time-column time: these are milliseconds since 1970, and the agent takes seconds: it "
        "would replay 1000 times too slowly; divide them by 1000"
    )


# What a header that names a column twice, or is separated by something else, does to a table is for
# its reader to say; the others are in the verdict.
FAULTS = (
    renamed,
    other_unit,
    constant,
    exchanged,
    half_missing,
    one_class,
    shuffled,
    milliseconds,
)
HEADERS = (separator, twice)
