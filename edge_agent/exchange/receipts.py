"""What a receipt means for a device: its own report was answered, or somebody else's was counted under its name."""

from __future__ import annotations

import logging

from edge_agent.exchange.outbox import Outbox
from edge_agent.state.state import State
from fsir.task.task import Task
from fsir.wire.messages import Receipt

log = logging.getLogger("fsir.agent")


def settle(state: State, outbox: Outbox, receipt: Receipt, task: Task) -> str:
    """Clear what was answered. Returns why the device must take no further part, or nothing.

    The broker keeps one receipt under the name of a task, whatever its edition. One of an earlier edition that the
    ledger knows is history. One that it does not know is of a report that this state did not make: the state is older.
    """
    name, ours = task.name, {row.stage: row for row in state.ledger(receipt.task)}
    strange = ""
    if receipt.task != task.digest and ours:
        return ""
    for stage, verdict in receipt.verdicts.items():
        row = ours.get(stage)
        if row is not None and row.report == verdict.report:
            if row.report in outbox:
                state.settle(row.report, verdict.status, verdict.reason)
                outbox.remove(row.report)
                level = logging.WARNING if verdict.status == "refused" else logging.INFO
                log.log(level, "%s: %s report %s %s", name, stage, verdict.status, verdict.reason)
        elif (
            row is None or verdict.status != "refused"
        ):  # a stranger's refused report does not concern us
            strange = stage
    if strange:
        return _give_up(state, outbox, name, strange)
    return ""


def _give_up(state: State, outbox: Outbox, name: str, stage: str) -> str:
    """There is a report that this state did not make: its budget may be spent, so nothing more may leave."""
    for waiting in state.outbox(name):
        state.settle(
            waiting.report, "refused", "another report was counted under this device's name"
        )
        outbox.remove(waiting.report)
    return (
        f"the aggregator has a {stage} report of device {state.device!r} that this state directory did not make. If "
        "the directory is new or restored, bring the original back; a new device needs a new name"
    )
