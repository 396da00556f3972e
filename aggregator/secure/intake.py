"""From sealed bytes on a topic to our share of a report, or to the reason why it is refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from aggregator import intake
from aggregator.federation import Federation
from aggregator.intake import Arrival
from aggregator.reasons import Refusal
from aggregator.secure.seat import Seat
from fsir.errors import MessageError, VersionError
from fsir.privacy.plan import FINAL, report_size
from fsir.secure.report import sealed_lengths
from fsir.task.secure import HELPER
from fsir.wire.messages import topic
from fsir.wire.sealed import SealedReport
from fsir.wire.shared import KIND, Shared, decode_shared
from fsir.wire.unpack import unpack

EARLY = "early"  # neither counted nor refused: the device sends it again


def read(arrivals: Sequence[Arrival], federations: Iterable[Federation], seat: Seat) -> None:
    """Parse and open a batch; afterwards each arrival has its share, or a refusal, or is early."""
    reports = {topic(federation.name, "report"): federation for federation in federations}
    for arrival in arrivals:
        if arrival.refusal is None:
            federation = intake.placed(arrival, reports)
            if federation is not None:
                _open(arrival, federation, seat)


def _open(arrival: Arrival, federation: Federation, seat: Seat) -> None:
    try:
        report = decode_shared(arrival.raw)
    except MessageError as error:
        reason = "wrong version" if isinstance(error, VersionError) else "malformed"
        arrival.refusal = Refusal(reason, str(error))
        _note(arrival)
        return
    arrival.stage = report.stage
    arrival.round = report.round
    arrival.task = report.task
    if _is_early(report, federation, seat):
        arrival.status = EARLY
        return
    arrival.refusal = _mismatch(report, arrival.device, federation, seat)
    if arrival.refusal is None:
        _unseal(arrival, report, federation, seat)


def _unseal(arrival: Arrival, report: Shared, federation: Federation, seat: Seat) -> None:
    try:
        arrival.share = seat.reader(federation, report.stage).payload(report)
    except MessageError as error:
        arrival.refusal = Refusal("does not open", str(error))
        return
    arrival.report = SealedReport(
        task=report.task,
        device=report.device,
        stage=report.stage,
        n=report.n,
        packed=None,
        votes=None,
        round=report.round,
    )


def _note(arrival: Arrival) -> None:
    try:
        intake.note(arrival, unpack(arrival.raw, KIND))
    except MessageError:
        return  # there is nothing to be read


def _is_early(report: Shared, federation: Federation, seat: Seat) -> bool:
    """Whether the active set is on its way to us, since the device knows it already."""
    return (
        seat.role == HELPER
        and report.task == federation.digest
        and report.stage == FINAL
        and FINAL not in federation.layouts
    )


def _mismatch(report: Shared, device: str, federation: Federation, seat: Seat) -> Refusal | None:
    """Why a report that can be read does not belong here."""
    fault = intake.misplaced(report, device, federation)
    if fault is not None:
        return fault
    if report.n != (n := report_size(federation.task)):
        return Refusal("wrong size", f"n = {report.n} records where the task asks for {n}")
    lengths = (len(report.leader), len(report.helper))
    expected = sealed_lengths(seat.reader(federation, report.stage).ring)
    if lengths != expected:
        held = f"shares of {lengths} bytes where {expected} are expected"
        return Refusal("wrong shape", held)
    return None
