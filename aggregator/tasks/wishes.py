"""What a sample cannot tell: what whoever writes a task asks for, as the sections of every task."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from aggregator.tasks.reports import rounds
from aggregator.tasks.reports.reporting import Reports
from aggregator.tasks.reports.rounds import Rounds
from aggregator.tasks.slices import Sliced
from fsir.task.secure import Secure
from fsir.task.task import SECURE

DELTA = 1e-6
PROVEN = "gaussian"

# What each field is; `Reports` and the sample have reasons of their own.
COMMENTS = {
    "epoch": "raise it to repeat the federation with fresh records",
    "dimension": 'or the number of directions; "auto": all that tell classes apart, or of a number '
    "those that stand out of the noise",
    "aggregation": 'exact; "trimmed" bounds what lying devices can do where anybody may join '
    "(docs/poisoning.md)",
    "features.centre": "A record's x enters as (x - centre) / scale. From public knowledge only.",
    "response.name": "the column or field that holds it",
    "privacy.epsilon": "of everything that a device sends for this task",
    "privacy.mechanism": "the proven one",
    "privacy.unit_records": "consecutive records that are protected together: count overlapping "
    "windows",
    "report.max_delay": "it leaves after a random delay of up to so many seconds",
    "report.sigma_0": "tolerated noise of a mean over the report: it takes so many records at "
    "least",
    "report.deadline": "a device then reports what it has; the number is told without noise, so "
    "that owners must allow it (exact_count in their policy)",
}
_SHARED = {
    "aggregation": "two aggregators open sums; one of them must be honest (docs/privacy.md)",
    "secure.cohort": "devices that are opened together, at least. Each brings a part of the noise: "
    "the more there are, the less is left if both aggregators collude",
    "secure.groups": "opened one by one and trimmed, from 3 on: bounds what lying devices can do",
    "secure.leader.key": "its public half; devices seal one share of each report to it",
}
NOT_PROVEN = "NOT PROVEN to protect anybody: for comparison only, and devices refuse it by default"
EVERY_CLASS = "Enough for every class to occur on every device?"


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """What a task says that no sample knows."""

    name: str  # of the task
    response: str  # the column
    reports: Reports
    epsilon: float
    delta: float = DELTA
    mechanism: str = PROVEN
    unit_records: int = 1
    epoch: int = 1
    dimension: int | None = None  # None: auto
    aggregation: str = "sum"
    secure: Secure | None = None
    max_delay: float = 0.0
    presence: bool = False
    rounds: Rounds = field(default_factory=Rounds)

    def sections(self, names: list[str], sliced: Sliced) -> dict[str, Any]:
        """The tables of a task with these features and slices, without clip, centre and scale."""
        several = self.rounds.sections()
        sections = {
            "name": self.name,
            "epoch": self.epoch,
            "dimension": "auto" if self.dimension is None else self.dimension,
            "aggregation": self.aggregation if self.secure is None else SECURE,
            "features": {"names": names},
            "response": {"name": self.response, **sliced.field},
            "clip": {},
            "privacy": {
                "epsilon": float(self.epsilon),
                "delta": self.delta,
                "mechanism": self.mechanism,
                "unit_records": self.unit_records,
                **several["privacy"],
            },
            "report": self._report() | several["report"],
            **({} if self.secure is None else _secure(self.secure)),
        }
        return sections | ({"estimate": several["estimate"]} if several["estimate"] else {})

    def _report(self) -> dict[str, Any]:
        said = {
            "records": self.reports.records,
            "sigma_0": self.reports.sigma_0,
            "deadline": self.reports.deadline,
            "max_delay": self.max_delay,
            "presence": self.presence,
        }
        return {key: value for key, value in said.items() if value is not None}

    def comments(self, sliced: Sliced) -> dict[str, str]:
        """What stands above the fields, by their place."""
        (kind,) = sliced.field
        proven = {} if self.mechanism == PROVEN else {"privacy.mechanism": NOT_PROVEN}
        when = "A report is about exactly so many records, labelled or not."
        if self.reports.deadline is not None:
            when = "The most that a report may be about."
        records = f"{when} {EVERY_CLASS} Here: {self.reports.why}."
        first = "sigma_0" if self.reports.records is None else "records"
        shared = {} if self.secure is None else _SHARED
        return (
            COMMENTS
            | rounds.COMMENTS
            | shared
            | proven
            | {f"response.{kind}": sliced.why, f"report.{first}": records}
        )


def _secure(secure: Secure) -> dict[str, Any]:
    """The section of two aggregators, and theirs below it."""
    return {
        "secure": {"cohort": secure.cohort, "groups": secure.groups},
        "secure.leader": secure.leader._asdict(),
        "secure.helper": secure.helper._asdict(),
    }
