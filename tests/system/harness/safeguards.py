"""Each safeguard of the product, deliberately broken: a harness must notice, or is worth nothing.

A breakage is a function of `setattr` or of something like it (pytest's `monkeypatch.setattr`), so
that it can be used both in a child process and inside of the test.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import aggregator.daemon
import aggregator.store.sqlite
import edge_agent.exchange.outbox
import edge_agent.learning.report
import edge_agent.state.state
from aggregator import intake
from aggregator import merging as counting
from aggregator.intake import Arrival
from edge_agent.exchange.outbox import Outbox, Publish
from edge_agent.learning.report import report_bytes
from edge_agent.records import START
from fsir.wire.messages import Verdict

Patch = Callable[[Any, str, Any], None]
_UNTIL_SENT_SECONDS = 0.2  # that answers may take to leave on a busy machine


def no_dedupe(patch: Patch) -> None:
    """The aggregator does not look whether it has counted a report before."""
    steps = aggregator.store.sqlite.STEPS
    once = "UNIQUE (task, device, stage, round)"
    assert any(once in step for step in steps)
    broken = tuple(step.replace(once, "CHECK (n > 0)") for step in steps)
    patch(aggregator.store.sqlite, "STEPS", broken)
    patch(counting, "_counted_before", lambda *_: {})


def answer_before_commit(patch: Patch) -> None:
    """The aggregator acknowledges and sends receipts first, and commits afterwards."""

    def flush(daemon: Any, wire: Any) -> None:
        arrivals = [
            Arrival(topic=arrival.topic, raw=arrival.raw) for arrival in daemon.aggregator._waiting
        ]
        intake.read(arrivals, daemon.aggregator.federations.values())
        answers = [
            counting.receipt(
                a.federation, a.device, {}, {a.stage: Verdict(a.id, "counted")}, a.task
            )
            for a in arrivals
            if a.federation is not None and a.refusal is None
        ]
        mids = daemon._unacknowledged
        daemon._unacknowledged = []
        daemon._bytes = 0
        wire.acknowledge(mids)
        wire.publish(answers)
        if answers:  # a batch of asks alone has none, and loses nothing
            time.sleep(_UNTIL_SENT_SECONDS)  # an end that comes before them does no harm
            daemon._reached("answered")
        gone = {answer.topic for answer in answers}
        wire.publish([p for p in daemon._commit() if p.topic not in gone])
        daemon._reached("committed")

    patch(aggregator.daemon.Daemon, "_flush", flush)


def fresh_noise(patch: Patch) -> None:
    """The device draws its noise again for every retry."""
    made: dict[bytes, Callable[[], bytes]] = {}

    def remembered(*arguments: Any) -> bytes:
        raw = report_bytes(*arguments)
        made[raw] = lambda: report_bytes(*arguments)
        return raw

    honest = Outbox.due

    def due(outbox: Outbox, now: float) -> list[Publish]:
        again = {waiting.row.payload for waiting in outbox._waiting.values() if waiting.attempts}
        return [
            message._replace(payload=made[message.payload]())
            if message.payload in again
            else message
            for message in honest(outbox, now)
        ]

    patch(edge_agent.learning.report, "report_bytes", remembered)
    patch(edge_agent.exchange.outbox.Outbox, "due", due)


def position_not_committed(patch: Patch) -> None:
    """The device saves what it has learned without how far it has come."""
    honest = edge_agent.state.state.State._save

    def save(state: Any, name: str, progress: Any, kept: Any, *, drop_kept: bool) -> None:
        honest(state, name, progress._replace(position=START), kept, drop_kept=drop_kept)

    patch(edge_agent.state.state.State, "_save", save)


def position_of_all_tasks(patch: Patch) -> None:
    """The device has one position for all its tasks: that of the task that is furthest."""
    patch(
        edge_agent.state.state.State,
        "position",
        lambda state, _name, source: state.last_position(source),
    )


def totals_in_memory(patch: Patch) -> None:
    """A worker takes what it has added up itself for the totals."""
    known: dict[tuple[int, str, int], Any] = {}
    read = aggregator.store.sqlite.SqliteStore.totals
    write = aggregator.store.sqlite.SqliteStore.put_totals

    def totals(store: Any, task: int, stage: str, round: int = 1) -> Any:
        return known.get((task, stage, round)) or read(store, task, stage, round)

    def put_totals(store: Any, task: int, stage: str, row: Any, round: int = 1) -> None:
        known[task, stage, round] = row
        write(store, task, stage, row, round)

    patch(aggregator.store.sqlite.SqliteStore, "totals", totals)
    patch(aggregator.store.sqlite.SqliteStore, "put_totals", put_totals)


def withdrawn_not_barred(patch: Patch) -> None:
    """The aggregator takes out what a withdrawn device has sent, and counts what it sends then."""
    patch(aggregator.store.sqlite.SqliteStore, "withdrawn", lambda *_: set())


BROKEN: dict[str, Callable[[Patch], None]] = {
    "no dedupe": no_dedupe,
    "answer before commit": answer_before_commit,
    "fresh noise on retry": fresh_noise,
    "position not committed": position_not_committed,
    "one position for all tasks": position_of_all_tasks,
    "totals in memory": totals_in_memory,
    "withdrawn devices not barred": withdrawn_not_barred,
}
