"""A federation of a table in memory, for programs and notebooks: one call, in one process."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from fsir.fitted.subspace import Subspace as Fitted
from fsir.task.task import Task
from fsir.wire.messages import Subspace
from sim_devices.own.cells import Laboratory, in_process
from sim_devices.own.frames import check_asked, check_frame, from_frame, names_of
from sim_devices.own.setup import Roles, prepare
from sim_devices.own.study import Study, Wishes, study
from sim_devices.results.report import bars
from sim_devices.results.story import percent

FEDERATION = "federation"  # the kind of the row that it is all about
_LARGER = (2, 4)  # times as many devices, for what they would add


class Row(NamedTuple):
    """One way to do it; the kind is public, private, federation or open."""

    name: str
    score: float  # share of unseen records named rightly, or R^2
    kind: str


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Controls:
    """What a federation is held against, and what it adds to that."""

    rows: tuple[Row, ...]
    verdict: str
    measure: str  # what a score is
    notes: tuple[str, ...] = ()

    def frame(self) -> Any:
        """The rows as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.rows, columns=list(Row._fields))

    def __str__(self) -> str:
        width = max(len(row.name) for row in self.rows)
        marks = ["=>" if row.kind == FEDERATION else "  " for row in self.rows]
        table = [
            f"{mark} {row.name:<{width}} {percent(row.score):>7}"
            for mark, row in zip(marks, self.rows, strict=True)
        ]
        return "\n".join([self.verdict, "", f"   {self.measure}", *table])

    __repr__ = __str__  # for whoever types its name

    def _repr_html_(self) -> str:
        """The same in a notebook."""
        rows = "".join(_html(row) for row in self.rows)
        return (
            f"<p>{html.escape(self.verdict)}</p><table><thead><tr><th></th>"
            f"<th>{html.escape(self.measure)}</th></tr></thead><tbody>{rows}</tbody></table>"
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Parts:
    """What came out of a federation."""

    task: Task
    message: Subspace  # what the aggregator would emit
    controls: Controls
    public: tuple[str, ...]  # devices whose records made the task
    unseen: tuple[str, ...]  # devices that took no part, and are the test

    @property
    def verdict(self) -> str:
        """What the federation adds, in one sentence."""
        return self.controls.verdict


def federate_parts(
    frame: Mapping[str, Any],
    *,
    response: str,
    by: str,
    epsilon: float = 1.0,
    unseen: float = 0.3,
    public: str | Sequence[str] | None = None,
    features: str | Sequence[str] | None = None,
    records: int | None = None,
    unit_records: int = 1,
    delta: float = 1e-6,
    slices: int = 8,
    seed: int = 1,
    name: str = "own",
) -> Parts:
    """Make a federation of a table, as `fsir-sim csv --fast` does, and run it once.

    Parameters
    ----------
    frame
        A pandas DataFrame, or a mapping of names to columns. Columns of numbers are features.
    response
        The column to be explained: texts, truth values and few whole numbers are classes, other
        numbers a quantity.
    by
        The column that names the device of each row.
    epsilon, delta
        The budget of a device.
    unseen
        Share of the devices that take no part, and are the test.
    public
        Devices whose records are public, and that are no devices then. Without it the first of the
        table, as few as have two records of every class together.
    features
        Columns to use; without it all that hold numbers in the public sample.
    records
        After which a device reports; without it, as many as the longest stream has.
    unit_records
        Consecutive records that are protected together.
    slices
        Of a quantity.
    seed
        Of lots and noise. Noise from a seed protects nobody: this is a simulation.
    name
        Of the task.
    """
    check_frame(frame)
    check_asked(
        epsilon=epsilon,
        delta=delta,
        unseen=unseen,
        records=records,
        unit_records=unit_records,
        slices=slices,
        seed=seed,
    )
    rows = from_frame(frame, response, by, names_of(features), name)
    told = names_of(public) or ()
    own = prepare(rows, Roles(public=told, unseen=unseen, slices=slices, seed=seed))
    wishes = Wishes(
        epsilons=(epsilon,),
        devices=tuple(times * len(own.devices) for times in _LARGER),
        records=(records or own.longest,),
    )
    laboratory = Laboratory(
        population=own.scenario.population,
        sample=own.sample,
        federate=in_process,
        draws=1,
        delta=delta,
        unit_records=unit_records,
        seed=seed,
    )
    found = study(own, wishes, laboratory, lambda done, total: None)
    outcome = found.headline.outcome
    return Parts(
        task=outcome.task,
        message=outcome.subspace,
        controls=_controls(found),
        public=own.public,
        unseen=own.unseen,
    )


def _controls(found: Study) -> Controls:
    result = found.result
    measure = "R^2" if result.judged is None else "right"
    return Controls(
        rows=tuple(Row(bar.name, bar.share, bar.kind) for bar in bars(result)),
        verdict="" if result.verdict is None else result.verdict.sentence,
        measure=f"{measure} on those who took no part",
        notes=tuple(found.notes),
    )


def _html(row: Row) -> str:
    tag = "th" if row.kind == FEDERATION else "td"
    name = html.escape(row.name)
    return (
        f'<tr><{tag} style="text-align:left">{name}</{tag}><{tag}>{percent(row.score)}</{tag}></tr>'
    )


class Federated(NamedTuple):
    """A federation that was played: what came out, and what it is held against."""

    subspace: Fitted
    controls: Controls


def federate(frame: Mapping[str, Any], *, response: str, by: str, **options: Any) -> Federated:
    """As `federate_parts`, whose options it takes, with a subspace that can be used at once."""
    parts = federate_parts(frame, response=response, by=by, **options)
    return Federated(Fitted(parts.task, parts.message), parts.controls)
