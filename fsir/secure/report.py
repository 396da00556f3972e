"""From a release to the sealed report of a device, and to one aggregator's share of it."""

from __future__ import annotations

import os

import numpy as np

from fsir.errors import MessageError, TaskError
from fsir.limits import ID_BYTES
from fsir.privacy.plan import FINAL, Stage, report_size
from fsir.privacy.release import Release
from fsir.secure.keys import KeyPair
from fsir.secure.ring import Residues, Ring, ring_of
from fsir.secure.sealing import context, seal, unseal
from fsir.secure.shares import SEED_BYTES, expanded, split
from fsir.task.secure import HELPER, LEADER, Secure
from fsir.task.task import Task
from fsir.wire.shared import OVERHEAD_BYTES, Shared


def sealed_report(
    task: Task, stage: Stage, device: str, release: Release, round_: int = 1
) -> Shared:
    """What a device publishes of a release; sealed once, a retry repeats the same bytes."""
    secure = secure_of(task)
    ring = ring_of(task, stage)
    report = Shared(
        task=task.digest,
        device=device,
        stage=stage.name,
        id=os.urandom(ID_BYTES),
        n=release.n,
        leader=b"",
        helper=b"",
        round=round_,
    )
    share, seed = split(ring, np.concatenate(release.blocks))
    active = active_of(task, stage)
    return report._replace(
        leader=seal(secure.leader.exchange_key, share, context(report, LEADER, active)),
        helper=seal(secure.helper.exchange_key, seed, context(report, HELPER, active)),
    )


class ShareReader:
    """Opens one aggregator's shares of one stage of a task."""

    def __init__(self, task: Task, stage: Stage, role: str, pair: KeyPair) -> None:
        if pair.party != (party := secure_of(task).party(role)):
            remedy = f"the key is that of {pair.name!r}; give the key file of {party.name!r}"
            raise TaskError(f"secure.{role}.name", party.name, remedy)
        self.ring = ring_of(task, stage)
        self._stage = stage.name
        self._active = active_of(task, stage)
        self._digest = task.digest
        self._n = report_size(task)
        self._role = role
        self._pair = pair

    def payload(self, report: Shared) -> bytes:
        """What is stored of a report: the share itself, or the seed of it.

        `MessageError` for a report that is not of this stage, or does not open.
        """
        self._check(report)
        mine = report.leader if self._role == LEADER else report.helper
        return unseal(self._pair.exchange, mine, context(report, self._role, self._active))

    def share(self, payload: bytes) -> Residues:
        """The vector that a payload stands for."""
        if self._role == LEADER:
            return self.ring.unpack(payload)
        return expanded(self.ring, payload)

    def _check(self, report: Shared) -> None:
        if report.task != self._digest or report.stage != self._stage:
            raise MessageError(f"a {report.stage} report of another task or stage")
        if report.n != self._n:
            raise MessageError(f"a report about {report.n} records: the task asks for {self._n}")
        lengths = (len(report.leader), len(report.helper))
        if lengths != (expected := sealed_lengths(self.ring)):
            raise MessageError(f"shares of {lengths} bytes: {expected} are expected")


def sealed_lengths(ring: Ring) -> tuple[int, int]:
    """Bytes of the two sealed shares, for leader and helper."""
    return ring.length + OVERHEAD_BYTES, SEED_BYTES + OVERHEAD_BYTES


def active_of(task: Task, stage: Stage) -> tuple[int, ...] | None:
    """The active set that a stage is about, if one was chosen by reports."""
    follows = task.screening is not None and stage.name == FINAL
    return stage.features if follows else None


def secure_of(task: Task) -> Secure:
    """The section that a secure task has."""
    if task.secure is None:
        raise TaskError("secure", None, "is missing: this task has no two aggregators")
    return task.secure
