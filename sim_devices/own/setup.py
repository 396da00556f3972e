"""A table as a scenario: the public sample, the devices and the unseen people, ready to be run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fsir.arrays import Flags, Matrix
from fsir.errors import FsirError
from fsir.tables.csv_table import some
from sim_devices.datasets.population import DeviceStream, Population
from sim_devices.own.responses import Responses, read_responses
from sim_devices.own.rows import TYPED, Rows, Style, plain_names
from sim_devices.own.split import check_devices, draw_unseen, public_sample
from sim_devices.scenarios import lda
from sim_devices.scenarios.proposed import PublicSample
from sim_devices.scenarios.scenarios import Scenario

SAMPLE = "the public sample"
_WAYS = {
    "plain LDA": lda.plain,
    "shrunken LDA": lda.shrunken,
    "shrunken LDA by class": lda.shrunken_by_class,
}
_NAMED = 4  # so many columns that are left out are told one by one, more by kinds of reasons
_KINDS = ("constant", "an exact copy", "missing", "not numbers")


@dataclass(frozen=True, kw_only=True)
class Roles:
    """How the devices of a table are used."""

    public: tuple[str, ...] = ()  # empty: the first devices that have every class
    unseen: float = 0.3  # share of the others
    slices: int = 8  # of a number
    seed: int = 1


@dataclass(frozen=True, eq=False, kw_only=True)
class Own:
    """A federation of one's own records."""

    scenario: Scenario  # its devices have all of their records
    sample: PublicSample
    public: tuple[str, ...]  # by the names in the table
    unseen: tuple[str, ...]
    left_out: dict[str, str]  # columns, with the reason
    notes: tuple[str, ...]
    style: Style = TYPED

    @property
    def name(self) -> str:
        """Of the federation."""
        return self.scenario.population.name

    @property
    def response(self) -> str:
        """What is to be explained."""
        return self.sample.response

    @property
    def devices(self) -> tuple[DeviceStream, ...]:
        """Who takes part."""
        return self.scenario.population.devices

    @property
    def longest(self) -> int:
        """Records of the device that has most."""
        return max(len(stream) for stream in self.devices)


def prepare(rows: Rows, roles: Roles) -> Own:
    """Clean, split, and say what was done."""
    check_devices(rows)
    responses = read_responses(rows)
    public, sample = public_sample(rows, responses, roles.public, roles.slices)
    X = rows.matrix(sample.features)
    usable = responses.known & np.isfinite(X).all(axis=1)
    gaps = int((responses.known & ~usable & ~rows.of(public)).sum())
    streams = _streams(rows, responses, X, usable, public)
    unseen = draw_unseen(list(streams), roles.unseen, roles.seed)
    volunteer = DeviceStream("public", sample.X, sample.y)
    lost = f"{gaps} rows of other devices left out: a value is missing or no number"
    notes = [
        *rows.notes,
        *responses.notes,
        *_left_out(sample.left_out),
        *sample.notes,
        *([lost] if gaps else []),
        *_renamed(streams),
        *_who(public, unseen, len(streams), told=bool(roles.public)),
    ]
    population = Population(
        name=rows.name,
        features=tuple(sample.features),
        classes=responses.classes,
        devices=tuple(stream for name, stream in streams.items() if name not in unseen),
        unseen=tuple(streams[name] for name in unseen),
    )
    proposing = PublicSample(volunteer, rows.response, sample.slicing.cuts, sample.groups)
    return Own(
        scenario=Scenario(
            population=population,
            geometry=proposing,
            volunteer=volunteer,
            called=SAMPLE,
            ways=_WAYS,
        ),
        sample=proposing,
        public=public,
        unseen=unseen,
        left_out=sample.left_out,
        notes=tuple(notes),
        style=rows.style,
    )


def _streams(
    rows: Rows, responses: Responses, X: Matrix, usable: Flags, public: Sequence[str]
) -> dict[str, DeviceStream]:
    """The records of all others, by the names in the table, in their order."""
    names = plain_names(rows.order())
    mine: dict[str, list[int]] = {name: [] for name in names if name not in public}
    for row in np.flatnonzero(usable & ~rows.of(public)).tolist():
        mine[rows.devices[row]].append(row)
    found = {
        name: DeviceStream(names[name], X[own], responses.y[own])
        for name, own in mine.items()
        if own
    }
    if len(found) < 3:
        raise FsirError(
            f"only {len(found)} devices beside the public ones have rows without gaps, and two "
            "must take part and one be asked afterwards; mend the table, or leave columns out by "
            f"{rows.said('features', 'A,B')}"
        )
    return found


def _left_out(reasons: dict[str, str]) -> list[str]:
    """Each column by name if they are few, else by kinds of reasons.

    >>> _left_out({f"x{k}": "constant: always 0" for k in range(9)})
    ['9 columns left out: constant (x0, x1, x2, x3, x4, x5, x6, x7, ...)']
    """
    if len(reasons) <= _NAMED:
        return [f"column {name} left out: {reason}" for name, reason in reasons.items()]
    kinds: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        kind = next((start for start in _KINDS if reason.startswith(start)), reason)
        kinds.setdefault(kind, []).append(name)
    return [
        f"{len(names)} column{'s' if len(names) > 1 else ''} left out: {kind} ({some(names)})"
        for kind, names in kinds.items()
    ]


def _renamed(streams: dict[str, DeviceStream]) -> list[str]:
    names = {name: stream.device for name, stream in streams.items() if name != stream.device}
    other = [f"{name!r} is {plain}" for name, plain in names.items()]
    return [f"some names cannot stand in a topic: {some(other)}"] if other else []


def _who(
    public: Sequence[str], unseen: Sequence[str], others: int, *, told: bool
) -> tuple[str, str]:
    """Who has which role, and why."""
    first = "the first" if len(public) == 1 else f"the first {len(public)}"
    why = "as you say" if told else f"{first} of the table, for two records of every class or slice"
    return (
        f"public, and no device: {some(public)} ({why})",
        f"unseen, and no device: {some(unseen)} ({len(unseen)} of {others} by lot)",
    )
