"""What a receipt means: our report was answered, or another one was counted under our name."""

from __future__ import annotations

import logging

from edge_agent.exchange import answers
from edge_agent.exchange.instance import ANOTHER_COPY, Instance
from edge_agent.exchange.outbox import Outbox
from edge_agent.state.rows import LedgerRow, report_title
from edge_agent.state.state import State
from fsir.privacy.plan import FINAL
from fsir.task.secure import HELPER
from fsir.task.task import Task
from fsir.wire.messages import Receipt, Verdict

log = logging.getLogger("fsir.agent")
_WITHDRAWN = (
    "withdrawn by {}: what this device has reported was taken out of the "
    "federation again, and nothing more is accepted of it. The ledger stays: what was sent was "
    "seen. Ask the operator, who can undo a slip: a device that is let in again goes on by itself"
)

# Reasons, by their codes, for which an aggregator would refuse the next round as well; and after a
# second report somebody else makes rounds under this name.
_ENDING = (
    "wrong topic",
    "wrong version",
    "wrong task",
    "wrong device",
    "wrong stage",
    "second report",
    "full",
)


def settle(
    state: State, outbox: Outbox, receipt: Receipt, task: Task, instance: Instance | None = None
) -> str:
    """Clear what was answered. Returns why the device must take no further part, or nothing.

    Of two aggregators both must have answered, and the leader tells which number holds.
    The broker keeps one receipt under the name of a task, whatever its edition. One of an earlier
    edition that the ledger knows is history. One that it does not know is of a report that this
    state did not make, or of a later round: the state is older.
    """
    ours = {(row.stage, row.round): row for row in state.ledger(receipt.task)}
    if receipt.task != task.digest and ours:
        return ""
    strange = ""
    ending = ""
    for stage, verdict in receipt.verdicts.items():
        row = ours.get((stage, verdict.round))
        if row is not None and row.report == verdict.report:
            _hear(state, outbox, task, row, receipt.by, verdict)
            ending = _ends(task, row, verdict) or ending
        elif row is None or verdict.status != "refused":
            strange = report_title(stage, verdict.round)
        # else: somebody else's report, beside ours, was refused, which does not concern us
    if receipt.task != task.digest:
        instance = None
    if receipt.by == HELPER and instance is not None:
        instance.hear_helper(receipt.instance)
        instance = None
    if instance is not None and not instance.hear(receipt.instance):
        _drop(state, outbox, task.name, "another copy of this device takes part")
        return _displaced(state.device)
    if receipt.task == task.digest and any(map(_says_withdrawn, receipt.verdicts.values())):
        _drop(state, outbox, task.name, f"withdrawn by {_operator(task, receipt.by)}")
        return withdrawn(task, receipt.by)
    if strange:
        _drop(state, outbox, task.name, "another report was counted under this device's name")
        return _spent(state.device, strange)
    return ending


def withdrawn(task: Task, by: str) -> str:
    """Why a device takes no further part that was taken out by the aggregator with this role."""
    return _WITHDRAWN.format(_operator(task, by))


def is_withdrawn(reason: str) -> bool:
    """Whether that is why a device takes no further part."""
    return reason.startswith(_WITHDRAWN.partition("{")[0])


def _operator(task: Task, by: str) -> str:
    if task.secure is None or not by:
        return "the aggregator's operator"
    return f"the operator of the {by} {task.secure.party(by).name!r}"


def _hear(
    state: State, outbox: Outbox, task: Task, row: LedgerRow, by: str, verdict: Verdict
) -> None:
    """A verdict about a report of ours: settle it, once everybody has answered."""
    if verdict.report not in outbox:
        return
    if task.secure is None:
        _clear(state, outbox, f"{task.name}: {row.title}", verdict)
        return
    if all(waiting.report != verdict.report for waiting in state.outbox(task.name)):
        outbox.remove(verdict.report)  # the disk has settled it, although it said no
        return
    before = state.answers(verdict.report)
    told = {**before, by: (verdict.status, verdict.reason)}
    if (settled := answers.together(task.secure, verdict.report, told)) is not None:
        _clear(state, outbox, f"{task.name}: {row.title}", settled)
    elif by not in before:  # what comes once more, retained or for a retry, is no news
        state.keep_answers(verdict.report, told)
        words = answers.in_words(task.secure, told)
        log.info("%s: %s %s", task.name, row.title, words)


def _clear(state: State, outbox: Outbox, which: str, verdict: Verdict) -> None:
    state.settle(verdict.report, verdict.status, verdict.reason)
    outbox.remove(verdict.report)
    level = logging.WARNING if verdict.status == "refused" else logging.INFO
    log.log(level, "%s", f"{which} {verdict.status} {verdict.reason}".rstrip())


def _drop(state: State, outbox: Outbox, name: str, reason: str) -> None:
    """The budget may be spent by reports that this state did not make: nothing more may leave."""
    for waiting in state.outbox(name):
        state.settle(waiting.report, "refused", reason)
        outbox.remove(waiting.report)


def _says_withdrawn(verdict: Verdict) -> bool:
    """Whether the reason, a code before a colon, is that the device was taken out."""
    return _code(verdict) == "withdrawn"


def _code(verdict: Verdict) -> str:
    return verdict.reason.partition(":")[0]


def _ends(task: Task, row: LedgerRow, verdict: Verdict) -> str:
    """Why no round can follow one that was refused; one that is at fault alone ends nothing."""
    ends = verdict.status == "refused" and _code(verdict) in _ENDING
    if not ends or row.stage != FINAL or row.round >= task.rounds:
        return ""
    return f"the aggregator has refused round {row.round} for what holds for the next ones, too"


def _spent(device: str, report: str) -> str:
    return (
        f"the aggregator has a {report} of device {device!r} that this state directory "
        "did not make. If the directory is new or restored, bring the original back; "
        "a new device needs a new name"
    )


def _displaced(device: str) -> str:
    return (
        f"{ANOTHER_COPY}, or this one is older than what the aggregator knows of device "
        f"{device!r}. Bring the newest directory back, or start with a new device name "
        "in a new directory"
    )
