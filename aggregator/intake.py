"""From bytes on a topic to rows of integers that may be merged, or to the reason why not.

The work is done in batches: every message is parsed on its own, then the packed values of all reports with the same
layout are opened, tested and later added together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aggregator.federation import Federation, Layout, tally
from aggregator.reasons import Refusal
from fsir.errors import MessageError, VersionError
from fsir.limits import DEVICE_NAME
from fsir.privacy.plan import FINAL
from fsir.wire import codec
from fsir.wire.messages import STAGES, STATUSES, report_id, topic
from fsir.wire.sealed import SealedReport, decode_sealed
from fsir.wire.unpack import unpack

Integers = NDArray[np.int64]
REFUSED = STATUSES[2]
_ROOM = (
    2**15
)  # integers opened at a time: what stays in the processor's cache, and bounds our memory


@dataclass(slots=True, eq=False)
class Arrival:
    """One message on its way in."""

    topic: str
    raw: bytes
    id: bytes = b""
    federation: Federation | None = None
    task: bytes = b""  # digest, as the report names it
    device: str = ""  # by the topic, which the broker vouches for
    stage: str = ""
    report: SealedReport | None = None
    status: str = REFUSED
    refusal: Refusal | None = None
    barred: bool = False  # the device was withdrawn: nothing of it is kept, whatever it sends
    values: Integers | None = None

    @property
    def name(self) -> str:
        """Of the task, or nothing."""
        return self.federation.name if self.federation is not None else ""

    @property
    def outcome(self) -> str:
        """`counted`, `duplicate`, or the reason of the refusal."""
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
    arrival.id = report_id(arrival.raw)
    place, _, device = arrival.topic.rpartition("/")
    federation = reports.get(place)
    if federation is None or not DEVICE_NAME.match(device):
        arrival.refusal = Refusal(
            "wrong topic", f"topic {arrival.topic[:100]!r} is not the report of a task here"
        )
        return
    arrival.federation = federation
    arrival.device, arrival.task, arrival.stage = device, federation.digest, federation.first
    try:
        table = unpack(arrival.raw, "report")
        # Whatever else is wrong, the receipt should reach the report that it is about.
        if table.get("stage") in STAGES:
            arrival.stage = table["stage"]
        if isinstance(table.get("task"), bytes) and len(table["task"]) == 32:
            arrival.task = table["task"]
        report = decode_sealed(table)
    except VersionError as error:
        arrival.refusal = Refusal("wrong version", str(error))
    except MessageError as error:
        arrival.refusal = Refusal("malformed", str(error))
    else:
        arrival.refusal = _mismatch(report, arrival.device, federation)
        if arrival.refusal is None:
            arrival.report = report


def _mismatch(report: SealedReport, device: str, federation: Federation) -> Refusal | None:
    if report.task != federation.digest:
        wanted, found = federation.digest.hex()[:16], report.task.hex()[:16]
        return Refusal(
            "wrong task", f"made for task {found}, this is {federation.name!r}, {wanted}"
        )
    if report.device != device:
        return Refusal(
            "wrong device", f"names {report.device!r} but came by the topic of {device!r}"
        )
    if report.stage not in federation.layouts:
        if report.stage == FINAL:
            return Refusal("no active set", "the active set has not been published yet")
        return Refusal("wrong stage", f"task {federation.name!r} has no {report.stage} report")
    layout = federation.layouts[report.stage]
    if layout.votes:
        wanted_votes = (layout.stage.p, layout.stage.slices)
        if report.votes is None or report.votes.shape != wanted_votes:
            found_votes = (
                "noisy blocks" if report.votes is None else f"votes of shape {report.votes.shape}"
            )
            return Refusal(
                "wrong shape", f"{found_votes} where votes of shape {wanted_votes} are expected"
            )
    elif report.packed is None or report.packed.sizes != layout.sizes:
        found_blocks = (
            "votes" if report.packed is None else f"blocks of {report.packed.sizes} values"
        )
        return Refusal(
            "wrong shape", f"{found_blocks} where blocks of {layout.sizes} values are expected"
        )
    low, high = federation.records
    if not low <= report.n <= high:
        asked = f"{low}" if low == high else f"{low} to {high}"
        return Refusal("wrong size", f"n = {report.n} records where the task asks for {asked}")
    return None


def open_all(arrivals: Iterable[Arrival]) -> None:
    """Open and test the values of all arrivals that are not refused."""
    groups: dict[int, tuple[Layout, list[Arrival]]] = {}
    for arrival in arrivals:
        if arrival.refusal is None and arrival.federation is not None:
            layout = arrival.federation.layouts[arrival.stage]
            groups.setdefault(id(layout), (layout, []))[1].append(arrival)
    for layout, group in groups.values():
        if layout.votes:
            for arrival in group:
                if arrival.report is not None and arrival.report.votes is not None:
                    arrival.values = tally(arrival.report.votes)
            continue
        size = max(1, _ROOM // max(1, layout.width))
        for start in range(0, len(group), size):
            _open(layout, group[start : start + size])


def _open(layout: Layout, group: list[Arrival]) -> None:
    reports = [arrival.report for arrival in group if arrival.report is not None]
    rows, broken = codec.unpack_many(
        [r.packed for r in reports if r.packed is not None], layout.sizes
    )
    if len(broken) < len(group):
        impossible = layout.plausibility.faults(np.array([report.n for report in reports]), rows)
        for i, arrival in enumerate(group):
            arrival.values = rows[i]
        for i, fault in impossible.items():
            group[i].refusal = Refusal("implausible", fault)
    for i, fault in broken.items():
        group[i].refusal = Refusal("malformed", fault)
