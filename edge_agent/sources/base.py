"""What a source of records is, so that others can add one.

A source is a class found by its scheme: `csv:FILE` asks for the scheme `csv`. Schemes of other
packages are entry points of the group `fsir.sources` that name a callable
`(rest, options) -> Source`.

A source has three duties. No record twice: each record has an ordinal that no other record of the
same source ever has, and rises. A source that can go back (a file) is `replayable`: `resume`
continues right behind the position given. A source that cannot (standard input, a sensor) numbers
on from there: records that were read and not saved are lost. It is opened by `resume`, which comes
when the first task is accepted. One that is `patient` keeps what is not polled: a file, or a pipe
whose writer waits. Any other is polled from then on, whether or not a task wants records.

Its `label` says what the response is called where that comes beside the values of a record, so that
an owner who never shares it is heard whatever a task calls it.

And `unit_records`: every source states how many consecutive records one reading can touch, 1 if its
records do not overlap. The agent takes no task that protects fewer together.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from edge_agent.records import START, Position, Record
from fsir.net.broker import Broker

__all__ = ["ENTRY_POINTS", "START", "Options", "Position", "Record", "Source", "is_patient"]

ENTRY_POINTS = "fsir.sources"


class Options(NamedTuple):
    """What the owner said about the source; each source takes what concerns it."""

    follow: bool = False  # wait for more at the end of a file
    time_column: str | None = None  # replay at the speed at which this column was recorded ...
    speed: float | None = None  # ... times this
    record_id: str | None = None  # the value that tells a repeated reading from a new one
    broker: Broker | None = None  # where the sensors publish
    # Full scale of an accelerometer in g and of a gyroscope in rad/s, where the source does not
    # know it.
    acc_range: float | None = None
    gyro_range: float | None = None


class Source(Protocol):
    """A stream of records, polled without waiting."""

    @property
    def name(self) -> str:
        """What the owner gave as the source, in a form that stays the same from run to run."""

    @property
    def stream(self) -> str:
        """Identifies the records for the ledger: equal ordinals of one stream are one record.

        Usually the name.
        """

    @property
    def label(self) -> str:
        """What the response is called that comes beside the values; empty where none does."""

    @property
    def replayable(self) -> bool:
        """Whether records that are not read now can be read later."""

    @property
    def unit_records(self) -> int:
        """How many consecutive records one reading can touch."""

    @property
    def ended(self) -> bool:
        """Whether nothing more will come."""

    def resume(self, after: Position) -> None:
        """Continue behind a position; before the first poll, where the last call counts.

        Nothing is taken from a sensor before this.

        A replayable source raises `SourceError` if the record at this position is not the one that
        was there.
        """

    def poll(self, limit: int) -> list[Record]:
        """Up to `limit` records that are there now."""

    def fileno(self) -> int | None:
        """What to wait on for more, or None: ask again after `delay`."""

    def delay(self) -> float:
        """Seconds until another poll is worth it."""

    def close(self) -> None:
        """Let go of files and connections."""


def is_patient(source: Source) -> bool:
    """Whether what is not polled now stays where it is; unless it says so, only a file's does."""
    return bool(getattr(source, "patient", source.replayable))
