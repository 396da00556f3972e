"""What a receipt means: our report was answered, or another one was counted under our name."""

from __future__ import annotations

import logging

from edge_agent.exchange.outbox import Outbox
from edge_agent.state.state import State
from fsir.task.task import Task
from fsir.wire.messages import Receipt, Verdict

log = logging.getLogger("fsir.agent")


def settle(state: State, outbox: Outbox, receipt: Receipt, task: Task) -> str:
    """Clear what was answered. Returns why the device must take no further part, or nothing.

    The broker keeps one receipt under the name of a task, whatever its edition. One of an earlier
    edition that the ledger knows is history. One that it does not know is of a report that this
    state did not make: the state is older.
    """
    ours = {row.stage: row for row in state.ledger(receipt.task)}
    if receipt.task != task.digest and ours:
        return ""
    strange = ""
    for stage, verdict in receipt.verdicts.items():
        row = ours.get(stage)
        if row is not None and row.report == verdict.report:
            _clear(state, outbox, f"{task.name}: {stage}", verdict)
        elif row is None or verdict.status != "refused":
            strange = stage
        # else: somebody else's report, beside ours, was refused, which does not concern us
    return _give_up(state, outbox, task.name, strange) if strange else ""


def _clear(state: State, outbox: Outbox, which: str, verdict: Verdict) -> None:
    if verdict.report in outbox:
        state.settle(verdict.report, verdict.status, verdict.reason)
        outbox.remove(verdict.report)
        level = logging.WARNING if verdict.status == "refused" else logging.INFO
        log.log(level, "%s report %s %s", which, verdict.status, verdict.reason)


def _give_up(state: State, outbox: Outbox, name: str, stage: str) -> str:
    """There is a report that this state did not make.

    Its budget may be spent, so nothing more may leave.
    """
    for waiting in state.outbox(name):
        state.settle(
            waiting.report, "refused", "another report was counted under this device's name"
        )
        outbox.remove(waiting.report)
    return (
        f"the aggregator has a {stage} report of device {state.device!r} that this state directory "
        "did not make. If the directory is new or restored, bring the original back; "
        "a new device needs a new name"
    )
