"""What goes over the wire, in words: what is written on a message, and no more than that.

Of a report only its envelope is told. Whoever reads it learns nothing that a stranger at the broker
would not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from edge_agent.exchange.inbox import read_task
from edge_agent.state.rows import report_title
from fsir.errors import FsirError
from fsir.task.secure import HELPER
from fsir.wire.cohort import Declined, Proposal, decode_cohort
from fsir.wire.decode import decode
from fsir.wire.messages import (
    PREFIX,
    Active,
    Ask,
    Presence,
    Receipt,
    Subspace,
    Verdict,
    report_id,
)
from fsir.wire.sealed import decode_sealed
from fsir.wire.shared import KIND as SHARED
from fsir.wire.shared import decode_shared
from fsir.wire.unpack import unpack

KINDS = ("task", "ask", "report", "receipt", "active", "subspace", "presence", "cohort")
_FEW = 3  # names that are shown of many


class Said(NamedTuple):
    """A message: its kind (empty if it is none of this protocol), and what it says."""

    kind: str
    words: str


def said(topic: str, payload: bytes) -> Said:
    """What a message says; whatever is wrong with it is said, too.

    >>> said("fsir/1/activity/presence/pi-7", b"garbage").kind
    'presence'
    >>> said("fsir/1/activity/task", b"")
    Said(kind='task', words='empty: what was kept here is cleared')
    >>> said("fsir/2/activity/task", b"...").words
    'not a topic of fsir/1, which this program speaks'
    """
    levels = topic.removeprefix(f"{PREFIX}/").split("/")
    if levels[1:2] + levels[3:] == ["receipt", HELPER]:
        levels.pop()
    if not topic.startswith(f"{PREFIX}/") or len(levels) not in (2, 3) or levels[1] not in KINDS:
        return Said("", f"not a topic of {PREFIX}, which this program speaks")
    name, kind = levels[:2]
    if not payload:
        return Said(kind, "empty: what was kept here is cleared")
    try:
        return Said(kind, _READERS[kind](payload, name))
    except FsirError as error:
        return Said(kind, f"cannot be read: {error}")


def _task(raw: bytes, name: str) -> str:
    task = read_task(raw, name)
    privacy = task.privacy
    return (
        f"digest {_short(task.digest)}, version {task.version}, epoch {task.epoch}: "
        f"{task.p} features, response {task.response.name!r}; {privacy.mechanism}, "
        f"epsilon {privacy.epsilon:g} at delta {privacy.delta:g}"
    )


def _report(raw: bytes, _name: str) -> str:
    table = unpack(raw, "report")
    shared = table.get("kind") == SHARED
    report = decode_shared(raw) if shared else decode_sealed(table)
    sealed = " in two sealed shares" if shared else ""
    return (
        f"the {report_title(report.stage, report.round)} of {report.device} about {report.n} "
        f"records{sealed}, "
        f"task {_short(report.task)}, report {report_id(raw).hex()}"
    )


def _ask(raw: bytes, _name: str) -> str:
    ask = decode(raw, Ask)
    since = "in place of the number before" if ask.previous else "for the first time"
    return f"{ask.device} asks to go on under a new number {since}, task {_short(ask.task)}"


def _receipt(raw: bytes, _name: str) -> str:
    receipt = decode(raw, Receipt)
    verdicts = [_verdict(stage, verdict) for stage, verdict in receipt.verdicts.items()]
    number = "; a number holds for it" if receipt.instance else ""
    about = ", ".join(verdicts) or "nothing is known of it"
    by = f" by the {receipt.by}" if receipt.by else ""
    return f"to {receipt.device}{by}, task {_short(receipt.task)}: {about}{number}"


def _verdict(stage: str, verdict: Verdict) -> str:
    why = f" ({verdict.reason})" if verdict.reason else ""
    title = report_title(stage, verdict.round)
    return f"{title} {verdict.report.hex()} {verdict.status}{why}"


def _active(raw: bytes, _name: str) -> str:
    active = decode(raw, Active)
    features = _listed(active.features)
    return f"task {_short(active.task)}: {features}, from the reports of {active.devices} devices"


def _subspace(raw: bytes, _name: str) -> str:
    subspace = decode(raw, Subspace)
    accuracy = subspace.expected_accuracy
    expected = "" if accuracy is None else f", expected accuracy {accuracy:.0%}"
    notes = "".join(f"; note: {note}" for note in subspace.notes)
    return (
        f"task {_short(subspace.task)}: version {subspace.version}, "
        f"{subspace.dimension} directions over {_listed(subspace.features)}, "
        f"from {subspace.devices} devices; expected error {subspace.expected_error:.3g}"
        f"{expected}{notes}"
    )


def _presence(raw: bytes, _name: str) -> str:
    presence = decode(raw, Presence)
    return f"{presence.device} is {'there' if presence.online else 'gone'}"


def _cohort(raw: bytes, _name: str) -> str:
    # Who signed it is for the other aggregator to know: a stranger at the broker has no keys.
    said = decode_cohort(raw, lambda _role, _raw, _signature: True)
    about = said.heading
    which = f"cohort {about.number} of {report_title(about.stage, about.round)}s"
    if isinstance(said, Declined):
        return f"the helper opens nothing of {which}: {said.reason}"
    verb = "the leader proposes to open" if isinstance(said, Proposal) else "the helper opens"
    return f"{verb} {len(said.ids)} reports, {which}, task {_short(about.task)}"


_READERS: dict[str, Callable[[bytes, str], str]] = {
    "task": _task,
    "ask": _ask,
    "report": _report,
    "receipt": _receipt,
    "active": _active,
    "subspace": _subspace,
    "presence": _presence,
    "cohort": _cohort,
}


def _short(digest: bytes) -> str:
    return digest.hex()[:16]


def _listed(names: tuple[str, ...]) -> str:
    more = ", ..." if len(names) > _FEW else ""
    return f"{len(names)} features ({', '.join(names[:_FEW])}{more})"
