"""The helper's part: it opens what waits here as well, once, and with all its noise."""

from __future__ import annotations

import logging

from aggregator.federation import Federation
from aggregator.secure.cohorts import common
from aggregator.secure.seat import Seat
from aggregator.secure.summing import own_sum, pool_of
from aggregator.store.base import Store
from aggregator.store.sealed import OPENED, CohortRow
from fsir.privacy.noise import Noise
from fsir.secure.report import secure_of
from fsir.wire.cohort import Answer, Declined, Heading, Proposal, encode_cohort

log = logging.getLogger("fsir.aggregator")


def answer(
    store: Store,
    federation: Federation,
    seat: Seat,
    proposal: Proposal,
    noise: Noise,
    now: float,
) -> bytes:
    """Inside a transaction: what to say to a proposal; of one cohort always the same.

    The ids are opened for good, and the answer stored, before anybody can see it.
    """
    heading = proposal.heading
    fault = _misplaced(federation, heading)
    if fault:
        return _declined(seat, heading, fault)
    pool = pool_of(heading)
    known = store.cohort(federation.key, pool, heading.number)
    if known is not None:
        return known.answer
    ids = common(proposal.ids, set(store.share_ids(federation.key, pool)))
    least = secure_of(federation.task).cohort
    if len(ids) < least:
        fault = f"{len(ids)} of {len(proposal.ids)} reports wait here, at least {least} are needed"
        return _declined(seat, heading, fault)
    own, records = own_sum(store, federation, seat, heading, ids, noise)
    packed = seat.reader(federation, heading.stage).ring.pack(own)
    said = encode_cohort(Answer(heading, ids, packed), seat.pair.sign)
    row = CohortRow(
        pool=pool,
        number=heading.number,
        state=OPENED,
        at=now,
        devices=len(ids),
        records=records,
        own=packed,
        answer=said,
    )
    store.close_cohort(federation.key, row, ids)
    log.info("task %r: our part of the sum of %d reports is given away", federation.name, len(ids))
    return said


def _misplaced(federation: Federation, heading: Heading) -> str:
    """Why there is no such cohort here, or nothing."""
    if heading.task != federation.digest:
        return f"task {heading.task.hex()[:16]}: this is {federation.digest.hex()[:16]}"
    if heading.stage not in federation.layouts:
        return f"stage {heading.stage!r}: is none of this task, or its active set is not here yet"
    if heading.round > (rounds := federation.rounds(heading.stage)):
        return f"round {heading.round}: the stage has {rounds}"
    if heading.group >= (groups := secure_of(federation.task).groups):
        return f"group {heading.group}: the task has {groups}"
    return ""


def _declined(seat: Seat, heading: Heading, reason: str) -> bytes:
    return encode_cohort(Declined(heading, reason), seat.pair.sign)
