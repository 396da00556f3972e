"""Tasks in which every record of every device has a feature of its own: 1 there, 0 elsewhere.

Without noise each merged entry is then 0 or 1, and any other value names the record that was lost
or doubled. Where devices vote about features, every even record has a trace of all of them
(`TRACE`), so that there is something to vote for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from edge_agent.consent.policy import Policy
from edge_agent.records import Position, Record
from edge_agent.state.rows import LedgerRow
from fsir.contract import task_from_table
from fsir.privacy.moments import Moments
from fsir.privacy.plan import FINAL, SCREENING, Stage, final_stage, first_stage
from fsir.task.task import TRIMMED, Task

CLASSES = ("even", "odd")
MOST_ROUNDS = 4
POLICY = Policy(epsilon=1e3, unproven=("none",), version_1=True, rounds=MOST_ROUNDS)
SECRET = "secret"  # a feature that some owners never share
SHY = POLICY._replace(never_share=(SECRET,))
TRACE = 2.0**-10


@dataclass(frozen=True, kw_only=True)
class Federation:
    """So many devices with so many records in stock, of which each report takes `records`."""

    devices: int
    stock: int
    records: int
    screening: str = ""  # "", same or fresh
    mechanism: str = "none"
    max_delay: float = 0.0
    name: str = "one-hot"
    trace: bool = False  # whether even records have a trace of every feature
    votes: bool = False  # on the features of the final report; needs the traces
    trimmed: bool = False
    quorum: int = 0  # 0: all devices
    secret: bool = False  # whether it asks for that feature as well
    version: int = 2
    rounds: int = 1

    @property
    def p(self) -> int:
        """Number of features."""
        return self.devices * self.stock + self.secret

    @property
    def needed(self) -> int:
        """Records that a device needs for all its reports."""
        return self.records * (self.rounds + (self.screening == "fresh"))

    @property
    def places(self) -> set[tuple[str, int]]:
        """Stages and rounds of all reports of a device."""
        final = {(FINAL, round) for round in range(1, self.rounds + 1)}
        return final | {(self.first, 1)}

    @property
    def first(self) -> str:
        """The stage of the first report."""
        return SCREENING if self.screening else FINAL

    def names(self) -> list[str]:
        """Of the devices."""
        return [f"device-{k}" for k in range(self.devices)]

    def task(self) -> Task:
        """The contract."""
        # With the traces of all features a record is a little longer than 1.
        norm = 2.0 if self.trace else 1.0
        table: dict[str, Any] = {
            "name": self.name,
            "version": self.version,
            "features": {"names": self.task_names},
            "response": {"classes": list(CLASSES)},
            "clip": {"truncate": 1.0, "norm": norm},
            "privacy": {"epsilon": 1.0, "mechanism": self.mechanism},
            "report": {"records": self.records, "max_delay": self.max_delay},
        }
        if self.rounds > 1:
            table["report"]["rounds"] = self.rounds
        if self.screening:
            table["screening"] = self._screening(norm)
        if self.trimmed:
            table["aggregation"] = TRIMMED
        return task_from_table(table)

    def _screening(self, norm: float) -> dict[str, Any]:
        by_votes = {"method": "votes", "threshold": TRACE / 64}
        by_size = {"select": "overall", "keep": self.p}
        return (by_votes if self.votes else by_size) | {
            "records": self.screening,
            "limit": self.p,
            "final_norm": norm,
            "quorum": self.quorum or self.devices,
        }

    def record(self, device: int, ordinal: int) -> Record:
        """A record of a device; a sensor that outlives its stock begins anew."""
        trace = TRACE if self.trace and ordinal % 2 == 0 else 0.0
        x: dict[str, Any] = dict.fromkeys([*self.task_names, SECRET], trace)
        x[f"d{device}-r{ordinal % self.stock}"] = 1.0
        return Record(Position(ordinal), x | {"y": CLASSES[ordinal % 2]})

    @property
    def task_names(self) -> list[str]:
        """Of the features."""
        names = [f"d{device}-r{k}" for device in range(self.devices) for k in range(self.stock)]
        return [*names, SECRET] if self.secret else names

    def stage(self, name: str) -> Stage:
        """A stage; here every feature is always active."""
        task = self.task()
        return final_stage(task, tuple(range(self.p))) if name == FINAL else first_stage(task)

    def moments(self, device: int, row: LedgerRow) -> Moments:
        """What the report behind a ledger row is made from, if each record counts once."""
        task = self.task()
        moments = Moments(task, self.stage(row.stage))
        for ordinal in range(row.first, row.last + 1):
            record = self.record(device, ordinal)
            moments.learn_one({name: record.x[name] for name in task.features.names}, record.x["y"])
        return moments

    def explain(self, name: str, merged: np.ndarray, expected: np.ndarray) -> list[str]:
        """In words: which records of which devices are not there once."""
        stage = self.stage(name)
        differs = merged != expected
        if self.votes and name != FINAL:
            return [
                f"{name}: {merged[j]} votes for {self.task_names[j]}, not {expected[j]}"
                for j in np.flatnonzero(differs).tolist()
            ]
        unit = round(1.0 / stage.sums.unit)
        wrong = []
        for j in np.flatnonzero(differs[: stage.sums.size]).tolist():
            entry = f"{self.task_names[j // stage.columns]} in {CLASSES[j % 2]!r}"
            wrong.append(f"{name}: {entry} is {merged[j] / unit:g}, not {expected[j] / unit:g}")
        if not wrong and differs.any():
            wrong.append(f"{name}: counts or second moments differ")
        return wrong
