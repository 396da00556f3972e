"""Tasks in which every record of every device has a feature of its own: 1 there, 0 elsewhere, and no noise.

So each merged entry is 0 or 1, and any other value names the record that was lost or doubled.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from edge_agent.entries import LedgerRow
from edge_agent.policy import Policy
from edge_agent.sources.base import Position, Record
from fsir.moments import Moments
from fsir.noise import SystemNoise
from fsir.plan import FINAL, Stage, final_stage, first_stage
from fsir.release import release
from fsir.task import Task

CLASSES = ("even", "odd")
POLICY = Policy(epsilon=1e3, unproven=("none",))


@dataclass(frozen=True)
class Federation:
    """So many devices with so many records in stock, of which each report takes `records`."""

    devices: int
    stock: int
    records: int
    screening: str = ""  # "", same or fresh
    mechanism: str = "none"
    max_delay: float = 0.0

    @property
    def p(self) -> int:
        """Number of features."""
        return self.devices * self.stock

    def names(self) -> list[str]:
        """Of the devices."""
        return [f"device-{k}" for k in range(self.devices)]

    def task(self) -> Task:
        """The contract."""
        table: dict[str, Any] = {
            "name": "one-hot",
            "features": {"names": [f"d{j // self.stock}-r{j % self.stock}" for j in range(self.p)]},
            "response": {"classes": list(CLASSES)},
            "clip": {"truncate": 1.0, "norm": 1.0},
            "privacy": {"epsilon": 1.0, "mechanism": self.mechanism},
            "report": {"records": self.records, "max_delay": self.max_delay},
        }
        if self.screening:
            table["screening"] = {
                "records": self.screening, "select": "overall", "keep": self.p, "limit": self.p, "final_norm": 1.0,
                "quorum": self.devices,
            }  # fmt: skip
        return Task.from_table(table)

    def record(self, device: int, ordinal: int) -> Record:
        """A record of a device."""
        x: dict[str, Any] = dict.fromkeys(self.task_names, 0.0)
        x[f"d{device}-r{ordinal}"] = 1.0
        return Record(Position(ordinal), x | {"y": CLASSES[ordinal % 2]})

    @property
    def task_names(self) -> list[str]:
        """Of the features."""
        return [f"d{j // self.stock}-r{j % self.stock}" for j in range(self.p)]

    def stage(self, name: str) -> Stage:
        """A stage; here every feature is always active."""
        task = self.task()
        return final_stage(task, tuple(range(self.p))) if name == FINAL else first_stage(task)

    def expected(self, device: int, row: LedgerRow) -> np.ndarray:
        """The integers of the one report that a ledger row stands for, if each record in its interval counts once."""
        task, stage = self.task(), self.stage(row.stage)
        moments = Moments(task, stage)
        for ordinal in range(row.first, row.last + 1):
            record = self.record(device, ordinal)
            moments.learn_one({name: record.x[name] for name in task.features.names}, record.x["y"])
        return np.concatenate(release(moments, SystemNoise()).blocks)

    def explain(self, stage: Stage, found: np.ndarray, expected: np.ndarray) -> list[str]:
        """In words: which records of which devices are not there once."""
        unit = round(1.0 / stage.sums.unit)
        size = stage.sums.size
        wrong = []
        for j in np.flatnonzero((found != expected)[:size]).tolist():
            name = self.task_names[j // stage.columns]
            wrong.append(
                f"{stage.name}: {name} in {CLASSES[j % 2]!r} is {found[j] / unit:g}, not {expected[j] / unit:g}"
            )
        if not wrong and (found != expected).any():
            wrong.append(f"{stage.name}: counts or second moments differ")
        return wrong
