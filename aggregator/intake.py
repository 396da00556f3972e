"""From bytes on a topic to rows of integers that may be merged, or to the reason why not.

The work is done in batches: every message is parsed on its own, then the packed values of all
reports with the same layout are opened, tested and later added together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aggregator.federation import Federation, Layout, tally
from aggregator.reasons import Refusal
from aggregator.store.rows import Place
from fsir.arrays import Integers
from fsir.errors import MessageError, VersionError
from fsir.limits import DEVICE_NAME, MAX_ROUNDS
from fsir.privacy.plan import FINAL
from fsir.wire.messages import STAGES, STATUSES, Ask, report_id, topic
from fsir.wire.packing import codec
from fsir.wire.sealed import SealedReport, decode_sealed
from fsir.wire.shared import Shared
from fsir.wire.unpack import unpack

REFUSED = STATUSES[2]
# Integers opened at a time: what stays in the processor's cache, and bounds our memory.
_AT_ONCE = 2**16


@dataclass(slots=True, eq=False, kw_only=True)
class Arrival:
    """One message on its way in."""

    topic: str
    raw: bytes
    id: bytes = b""
    federation: Federation | None = None
    task: bytes = b""  # digest, as the report names it
    device: str = ""  # by the topic, which the broker vouches for
    stage: str = ""
    round: int = 1
    report: SealedReport | None = None
    ask: Ask | None = None
    status: str = REFUSED
    refusal: Refusal | None = None
    barred: bool = False  # the device was withdrawn: nothing of it is kept, whatever it sends
    values: Integers | None = None
    share: bytes = b""  # ours of a sealed report

    @property
    def name(self) -> str:
        """Of the task, or nothing."""
        return self.federation.name if self.federation is not None else ""

    @property
    def place(self) -> Place:
        """Where at most one report is counted."""
        return self.device, self.stage, self.round

    @property
    def outcome(self) -> str:
        """`counted`, `duplicate`, what an ask is answered, or the reason of the refusal."""
        return self.status if self.refusal is None else self.refusal.reason


def read(arrivals: Sequence[Arrival], federations: Iterable[Federation]) -> None:
    """Parse, open and test a batch; afterwards each arrival has its values, or a refusal."""
    reports = {topic(federation.name, "report"): federation for federation in federations}
    for arrival in arrivals:
        if arrival.refusal is None:
            parse(arrival, reports)
    open_all(arrivals)


def parse(arrival: Arrival, reports: Mapping[str, Federation]) -> None:
    """Fill in what one message says, or why it is refused."""
    federation = placed(arrival, reports)
    if federation is None:
        return
    report = federation.glance(arrival.raw, arrival.device)
    if report is None:
        _examine(arrival, federation)
        return
    arrival.report = report
    arrival.stage = report.stage
    arrival.round = report.round


def _examine(arrival: Arrival, federation: Federation) -> None:
    """Look at a report field by field: it holds votes, or something is wrong with it."""
    try:
        report = _unseal(arrival)
    except VersionError as error:
        arrival.refusal = Refusal("wrong version", str(error))
    except MessageError as error:
        arrival.refusal = Refusal("malformed", str(error))
    else:
        arrival.refusal = _mismatch(report, arrival.device, federation)
        if arrival.refusal is None:
            arrival.report = report


def placed(arrival: Arrival, reports: Mapping[str, Federation]) -> Federation | None:
    """The federation that the topic of a message names, filled in; None if it is refused."""
    arrival.id = report_id(arrival.raw)
    place, _, device = arrival.topic.rpartition("/")
    federation = reports.get(place)
    if federation is None or not DEVICE_NAME.match(device):
        arrival.refusal = Refusal(
            "wrong topic", f"topic {arrival.topic[:100]!r} is not the report of a task here"
        )
        return None
    arrival.federation = federation
    arrival.device = device
    arrival.task = federation.digest
    arrival.stage = federation.first
    return federation


def _unseal(arrival: Arrival) -> SealedReport:
    table = unpack(arrival.raw, "report")
    note(arrival, table)
    return decode_sealed(table)


def note(arrival: Arrival, table: Mapping[str, Any]) -> None:
    """Whatever else is wrong, the receipt should reach the report that it is about."""
    if table.get("stage") in STAGES:
        arrival.stage = table["stage"]
    if isinstance(table.get("task"), bytes) and len(table["task"]) == 32:
        arrival.task = table["task"]
    if type(table.get("round")) is int and 1 < table["round"] <= MAX_ROUNDS:
        arrival.round = table["round"]


def _mismatch(report: SealedReport, device: str, federation: Federation) -> Refusal | None:
    """Why a report that can be read does not belong here."""
    fault = misplaced(report, device, federation)
    if fault is not None:
        return fault
    layout = federation.layouts[report.stage]
    return _wrong_shape(report, layout) or _wrong_size(report, federation.records)


def misplaced(report: SealedReport | Shared, device: str, federation: Federation) -> Refusal | None:
    """Why a report is of another task, device or stage."""
    name = federation.name
    if report.task != federation.digest:
        made_for = report.task.hex()[:16]
        ours = federation.digest.hex()[:16]
        return Refusal("wrong task", f"made for task {made_for}, this is {name!r}, {ours}")
    if report.device != device:
        return Refusal(
            "wrong device", f"names {report.device!r} but came by the topic of {device!r}"
        )
    if report.stage not in federation.layouts:
        if report.stage == FINAL:
            return Refusal("no active set", "the active set has not been published yet")
        return Refusal("wrong stage", f"task {name!r} has no {report.stage} report")
    rounds = federation.rounds(report.stage)
    if report.round > rounds:
        last = "one round" if rounds == 1 else f"rounds 1 to {rounds}"
        text = f"round {report.round} where the {report.stage} stage of {name!r} has {last}"
        return Refusal("wrong round", text)
    return None


def _wrong_shape(report: SealedReport, layout: Layout) -> Refusal | None:
    if layout.votes:
        shape = (layout.stage.p, layout.stage.slices)
        if report.votes is not None and report.votes.shape == shape:
            return None
        held = "noisy blocks" if report.votes is None else f"votes of shape {report.votes.shape}"
        return Refusal("wrong shape", f"{held} where votes of shape {shape} are expected")
    if report.packed is not None and report.packed.sizes == layout.sizes:
        return None
    held = "votes" if report.packed is None else f"blocks of {report.packed.sizes} values"
    return Refusal("wrong shape", f"{held} where blocks of {layout.sizes} values are expected")


def _wrong_size(report: SealedReport, allowed: tuple[int, int]) -> Refusal | None:
    low, high = allowed
    if low <= report.n <= high:
        return None
    asked = f"{low}" if low == high else f"{low} to {high}"
    return Refusal("wrong size", f"n = {report.n} records where the task asks for {asked}")


def open_all(arrivals: Iterable[Arrival]) -> None:
    """Open and test the values of all arrivals that are not refused."""
    groups: dict[int, tuple[Layout, list[Arrival]]] = {}
    for arrival in arrivals:
        if arrival.refusal is None and arrival.federation is not None:
            layout = arrival.federation.layouts[arrival.stage]
            groups.setdefault(id(layout), (layout, []))[1].append(arrival)
    for layout, group in groups.values():
        if layout.votes:
            _open_votes(group)
            continue
        size = max(1, _AT_ONCE // max(1, layout.width))
        for start in range(0, len(group), size):
            _open_blocks(layout, group[start : start + size])


def _open_votes(group: Sequence[Arrival]) -> None:
    for arrival in group:
        if arrival.report is not None and arrival.report.votes is not None:
            arrival.values = tally(arrival.report.votes)


def _open_blocks(layout: Layout, group: Sequence[Arrival]) -> None:
    reports = [arrival.report for arrival in group if arrival.report is not None]
    packed = [report.packed for report in reports if report.packed is not None]
    rows, broken = codec.unpack_many(packed, layout.sizes)
    if len(broken) < len(group):
        sizes = np.array([report.n for report in reports])
        impossible = layout.plausibility.faults(sizes, rows)
        for i, arrival in enumerate(group):
            arrival.values = rows[i]
        for i, fault in impossible.items():
            group[i].refusal = Refusal("implausible", fault)
    for i, fault in broken.items():
        group[i].refusal = Refusal("malformed", fault)
