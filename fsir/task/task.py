"""The task: the public contract of one federation, which nobody can change underneath a device.

Everything here is public and fixed before a device looks at its first record: features with centre
and scale, slices, clips, the privacy budget, when to report. Its canonical bytes have a digest;
every report carries the digest, so that a changed task is another task. `fsir.privacy.plan` derives
the noise from it, `fsir.privacy.describe` says in words what a device gives away.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import msgpack

from fsir.task.secure import Secure
from fsir.task.slicing import Slicing

if TYPE_CHECKING:
    from fsir.task.public_map import Public

MECHANISMS = ("gaussian", "iid", "vgm", "none")
OLDEST_VERSION = 1  # its bytes do not say so
NEWEST_VERSION = 2
TRIMMED = "trimmed"
CORRELATED = "correlated"
NOISES = (CORRELATED, "independent")
MEMORIES = ("auto", "all", "window", "decay")
SECURE = "secure"


class Features(NamedTuple):
    """What is measured: a record's value `x` enters as `(x - centre) / scale`."""

    names: tuple[str, ...]
    centre: tuple[float, ...]
    scale: tuple[float, ...]

    def indices(self, names: Iterable[str]) -> tuple[int, ...]:
        """Where these features stand among all; `KeyError` for one that is not there.

        >>> Features(("a", "b", "c"), (0.0,) * 3, (1.0,) * 3).indices(["c", "a"])
        (2, 0)
        """
        index = {name: j for j, name in enumerate(self.names)}
        return tuple(index[name] for name in names)

    def unknown(self, names: Iterable[str]) -> list[str]:
        """Those of the names that are no features, in their order."""
        known = frozenset(self.names)
        return [name for name in names if name not in known]


class Response(NamedTuple):
    """What is explained: a class label, or a number with public cut points."""

    name: str
    classes: tuple[str, ...] = ()
    cuts: tuple[float, ...] = ()


class Clip(NamedTuple):
    """How far one record can reach: `truncate` (R) per coordinate, `norm` (C) in Euclidean norm.

    At most `2^bits` steps of the grid lead to R; None is 14, which is finer than any noise.
    """

    truncate: float
    norm: float
    bits: int | None = None


class Privacy(NamedTuple):
    """The total budget of a device for this task.

    `unit_records` consecutive records are protected together. `split` is how much of a final report
    goes to the sums, against the second moment: None is the free split, which is 2. `noise` is how
    that of several rounds hangs together: None is correlated, if there are any.
    """

    epsilon: float
    delta: float = 1e-6
    mechanism: str = "gaussian"
    unit_records: int = 1
    split: float | None = None
    noise: str | None = None


class Reporting(NamedTuple):
    """When a device reports.

    At exactly `records` records, or with all it has (at most `records`) at a `deadline`. `sigma_0`,
    the tolerated noise, stands for the fewest records that keep it. So many `rounds` follow each
    other, each about the next records: not before `every` seconds have passed since the last one,
    or, with a `start`, one in each such stretch of time from then on, under its number.
    """

    records: int | None = None
    sigma_0: float | None = None
    deadline: int | None = None  # seconds since 1970, UTC
    max_delay: float = 0.0  # a report leaves after a random delay of up to this many seconds
    presence: bool = False
    rounds: int | None = None  # None: one
    every: float | None = None  # seconds
    start: int | None = None  # seconds since 1970, UTC


class Estimate(NamedTuple):
    """How long the estimate remembers rounds.

    The memory is all of them, a window of the last `span`, or decays to a half over `span` rounds;
    `auto` takes as many of the last ones as noise and drift allow.
    """

    memory: str = "auto"
    span: int | None = None


class Screening(NamedTuple):
    """How a first report chooses the features of the second one.

    By the `method` dense it holds noisy sums of all features; by votes, indices that the device
    computes from them. If the `records` of both stages are the same, they share the budget; fresh
    ones are disjoint, and each stage has all of it.
    """

    method: str = "dense"  # dense | votes
    records: str = "same"  # same | fresh
    share: float = 0.5  # of mu^2, for the first stage, where records are the same
    select: str = "per_slice"  # per_slice | overall | significant | majority (for votes)
    keep: int = 3  # features kept per slice, or overall
    limit: int = 64  # a device refuses an active set that is larger
    threshold: float = 0.0  # of the votes, on conditional slice means
    code: str = "slices"  # the response code of the first stage: slices | circle | simplex
    quorum: int = 1  # devices that must have reported before the active set is published ...
    wait_seconds: float = 0.0  # ... or so long after the first report, if above 0
    final_norm: float | None = None  # C of the second stage ...
    final_norm_factor: float | None = None  # ... or this times sqrt(its number of features)


@dataclass(frozen=True, kw_only=True)
class Task:
    """One federation: the public contract that every report is made under.

    Get it from `load_task`, `task_from_table` or `decode_task`, which check everything. Each
    section of the file is an attribute with the fields of the file; docs/task.md explains them.

    Examples
    --------
    >>> import fsir
    >>> task = fsir.task_from_table({
    ...     "name": "example",
    ...     "features": {"names": ["a", "b"]},
    ...     "response": {"classes": ["no", "yes"]},
    ...     "clip": {"truncate": 2, "norm": 2.5},
    ...     "privacy": {"epsilon": 1},
    ...     "report": {"records": 100},
    ... })
    >>> isinstance(task, fsir.Task), task.features.names, task.report.records
    (True, ('a', 'b'), 100)
    >>> task.digest == fsir.decode_task(task.encode()).digest
    True
    """

    name: str
    features: Features
    response: Response
    clip: Clip
    privacy: Privacy
    report: Reporting
    screening: Screening | None = None
    public: Public | None = None
    estimate: Estimate | None = None  # None: `auto`, if there are several rounds
    dimension: int | None = None  # None: decided from the data (auto)
    # None: exact sums; TRIMMED: as `fsir.estimate.trimming` has it; SECURE: by two aggregators.
    aggregation: str | None = None
    secure: Secure | None = None
    epoch: int = 1
    version: int = NEWEST_VERSION  # 1: reports are about accepted records; 2: about offered ones

    @property
    def p(self) -> int:
        """Number of features."""
        return len(self.features.names)

    @property
    def coordinates(self) -> int:
        """Numbers that a record is turned into before it is added up: its features, or fewer."""
        return self.p if self.public is None else self.public.coordinates

    @property
    def numbers(self) -> int:
        """Numbers of a record that are added up: its coordinates, and the check if it has one."""
        checked = self.public is not None and self.public.check is not None
        return self.coordinates + (1 if checked else 0)

    @property
    def rounds(self) -> int:
        """Final reports that a device makes at most, each about records of its own."""
        return self.report.rounds or 1

    @property
    def correlates_noise(self) -> bool:
        """Whether the noise of later rounds takes back that of earlier ones."""
        proven = self.privacy.mechanism == "gaussian"
        return self.rounds > 1 and proven and self.privacy.noise in (None, CORRELATED)

    @property
    def memory(self) -> Estimate:
        """How long the estimate remembers rounds, the default written out."""
        return self.estimate or Estimate()

    @property
    def screens_by_votes(self) -> bool:
        """Whether the first report of a device holds votes instead of noisy sums."""
        return self.screening is not None and self.screening.method == "votes"

    @property
    def asks_for_fresh_records(self) -> bool:
        """Whether the second report of a device is about other records than the first."""
        return self.screening is not None and self.screening.records == "fresh"

    @property
    def counts_refused(self) -> bool:
        """Whether a report is about so many *offered* records, of which refused ones are null.

        Then nothing about the content of a record tells when a report is due. Tasks of version 1
        wait for as many records as they accept, and end as they began.
        """
        return self.version > OLDEST_VERSION

    @property
    def tells_copies_apart(self) -> bool:
        """Whether a device asks who it is before its reports leave, as since version 2."""
        return self.version > OLDEST_VERSION

    @cached_property
    def slicing(self) -> Slicing:
        """The map from responses to slices."""
        return Slicing(self.response.classes, self.response.cuts)

    def table(self) -> dict[str, Any]:
        """The task as plain nested tables: what a TOML file holds, every default written out.

        Public centres and a map are bytes: `fsir.task.public_map.as_text` makes texts of them.
        """
        return _table({field.name: getattr(self, field.name) for field in fields(self)})

    def encode(self) -> bytes:
        """Canonical bytes: the same task gives the same bytes everywhere."""
        return self._encoded

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the canonical bytes: the identity of the task."""
        return hashlib.sha256(self._encoded).digest()

    def __hash__(self) -> int:
        """What follows from a task is looked up again and again: all its fields are in these."""
        return hash(self.digest)

    @cached_property
    def _encoded(self) -> bytes:
        table = _sorted(self.table())
        if self.version == OLDEST_VERSION:
            del table["version"]
        packed: bytes = msgpack.packb(table)
        return packed


def _plain(value: Any) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _table(value._asdict())
    return list(value) if isinstance(value, tuple) else value


def _table(section: dict[str, Any]) -> dict[str, Any]:
    plain = {key: _plain(value) for key, value in section.items()}
    return {key: value for key, value in plain.items() if value is not None and value != []}


def _sorted(table: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _sorted(value) if isinstance(value, dict) else value
        for key, value in sorted(table.items())
    }
