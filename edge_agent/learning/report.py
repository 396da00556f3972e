"""From moments to the bytes of a report, and to the rows that remember it.

`report_bytes` is the only place where noise is drawn.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from edge_agent.consent.budget import numbers_in
from edge_agent.state.rows import HOLD, LedgerRow, OutboxRow
from fsir.estimate.totals import Totals
from fsir.estimate.votes import private_votes
from fsir.privacy.moments import Moments
from fsir.privacy.noise import Noise
from fsir.privacy.plan import SCREENING, Stage
from fsir.privacy.release import Release, release
from fsir.privacy.rounds.correlated import round_noise
from fsir.task.task import CORRELATED, Task
from fsir.wire.messages import Report, encode, topic
from fsir.wire.shared import encode_shared


def report_bytes(
    task: Task, device: str, moments: Moments, noise: Noise, round: int = 1, key: bytes = b""
) -> bytes:
    """The report of one round of a stage.

    Each call draws new noise: call it once, and keep the bytes. Rounds whose noise is correlated
    have it from the device's `key`.
    """
    stage = moments.stage
    released = release(moments, round_noise(noise, stage, round, key))
    if task.secure is not None:
        return _sealed_bytes(task, stage, device, released, round)
    report = partial(
        Report, task=task.digest, device=device, stage=stage.name, n=released.n, round=round
    )
    if stage.name == SCREENING and task.screening is not None and task.screens_by_votes:
        votes = private_votes(released, Totals(stage), task.screening.threshold)
        return encode(report(votes=votes.astype(np.bool_)))
    return encode(report(blocks=released.blocks))


def _sealed_bytes(task: Task, stage: Stage, device: str, released: Release, round: int) -> bytes:
    """The report in two shares; sealing it once more would give other bytes."""
    # Here alone: whoever has no such task needs no `cryptography`.
    from fsir.secure.report import sealed_report

    return encode_shared(sealed_report(task, stage, device, released, round))


def ledger_row(
    task: Task,
    moments: Moments,
    *,
    source: str,
    interval: tuple[int, int],
    made: float,
    round: int = 1,
) -> LedgerRow:
    """What a report from these moments would cost; its identity is filled in once it is made."""
    stage = moments.stage
    first, last = interval
    return LedgerRow(
        task=task.name,
        digest=task.digest,
        stage=stage.name,
        mechanism=_mechanism(stage),
        mu=stage.mu,
        epsilon=task.privacy.epsilon,
        delta=task.privacy.delta,
        numbers=numbers_in(stage),
        n=moments.n,
        source=source,
        first=first,
        last=last,
        made=made,
        report=b"",
        unit_records=task.privacy.unit_records,
        round=round,
    )


def _mechanism(stage: Stage) -> str:
    """What the ledger calls it: rounds that hang together add up in another way than others."""
    if len(stage.factorisation.coefficients) == 1:
        return stage.mechanism
    return f"{CORRELATED} {stage.mechanism}"


def judgement_row(
    task: Task,
    mu: float,
    n: int,
    *,
    source: str,
    interval: tuple[int, int],
    made: float,
    earlier: int,
) -> LedgerRow:
    """What it costs to decide whether a report about these records is held."""
    first, last = interval
    return LedgerRow(
        task=task.name,
        digest=task.digest,
        stage=HOLD,
        mechanism="gaussian",
        mu=mu,
        epsilon=task.privacy.epsilon,
        delta=task.privacy.delta,
        numbers=1,
        n=n,
        source=source,
        first=first,
        last=last,
        made=made,
        report=b"",
        unit_records=task.privacy.unit_records,
        round=earlier + 1,
    )


def outbox_row(row: LedgerRow, device: str, payload: bytes, not_before: float) -> OutboxRow:
    """What is sent until there is a receipt."""
    return OutboxRow(
        report=row.report,
        task=row.task,
        stage=row.stage,
        topic=topic(row.task, "report", device),
        payload=payload,
        not_before=not_before,
    )
