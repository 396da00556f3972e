"""The paper's four tables as package data: 560 cells."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from fsir.errors import FsirError
from sim_devices.datasets.models import MODELS, Model

SLICES = 8
CLIENTS = (1, 10, 50, 100)
LOW_P = 10
HIGH_N = 1000
HIGH_PS = (500, 1000, 2000)


class ExperimentError(FsirError, ValueError):
    """An experiment that cannot be run as asked, with the remedy."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """The place of one number in the tables, whatever the mechanism. `epsilon` is what the paper
    prints: it spends that once on the slice means and once more on the covariance."""

    setting: str  # low | high
    model: Model
    epsilon: float
    p: int
    n: int
    clients: int

    @property
    def delta(self) -> float:
        """The paper's delta, likewise spent twice."""
        return math.pow(self.n, -1.1)


@dataclass(frozen=True)
class Printed:
    """A number of the paper: mean loss and, in its words,
    the standard error (it is a standard deviation)."""

    loss: float
    spread: float


@cache
def printed() -> dict[tuple[Cell, str], Printed]:
    """What the paper prints, by cell and mechanism (iid, vgm)."""
    text = files("sim_devices.paper").joinpath("paper_tables.csv").read_text("utf-8")
    rows = csv.DictReader(text.splitlines())
    return {
        (_cell(row), row["mechanism"]): Printed(float(row["loss"]), float(row["se"]))
        for row in rows
    }


def cells(setting: str) -> list[Cell]:
    """The cells of `low` (160) or `high` (120), in the order of the tables."""
    return list(dict.fromkeys(cell for cell, _ in printed() if cell.setting == setting))


def _cell(row: dict[str, str]) -> Cell:
    model = next(known for known in MODELS if known == row["model"])
    return Cell(
        setting=row["setting"],
        model=model,
        epsilon=float(row["epsilon"]),
        p=int(row["p"]),
        n=int(row["n"]),
        clients=int(row["K"]),
    )
