"""The leader's part: it proposes cohorts, and adds its own noised sum to the helper's.

A cohort is pending from its first proposal on, and is proposed again, with all that waits by then,
until the helper has answered. Whatever the helper has opened, at whichever of these proposals,
waits here too: the leader opens the reports that the answer names.
"""

from __future__ import annotations

import logging

from aggregator import merging
from aggregator.federation import Federation, add
from aggregator.secure.cohorts import common
from aggregator.secure.seat import Seat
from aggregator.secure.summing import own_sum, pool_of
from aggregator.store.base import Store
from aggregator.store.sealed import LOST, OPENED, PENDING, CohortRow, Pool
from fsir.errors import MessageError
from fsir.limits import MOST_IN_COHORT
from fsir.privacy.noise import Noise
from fsir.secure.opening import opened
from fsir.secure.report import secure_of
from fsir.wire.cohort import Answer, Heading, Proposal

log = logging.getLogger("fsir.aggregator")


def propose(store: Store, federation: Federation, pool: Pool, now: float) -> Proposal:
    """Inside a transaction: the cohort that is pending in a pool, or the next one there."""
    last, pending = store.last_cohorts(federation.key).get(pool, (0, False))
    number = last if pending else last + 1
    if not pending:
        row = CohortRow(pool=pool, number=number, state=PENDING, at=now)
        store.put_cohort(federation.key, row)
    ids = store.share_ids(federation.key, pool, MOST_IN_COHORT)
    store.mark_proposed(federation.key, ids)
    heading = Heading(
        task=federation.digest,
        stage=pool.stage,
        number=number,
        group=pool.group,
        round=pool.round,
    )
    return Proposal(heading, tuple(sorted(ids)))


def open_answer(
    store: Store, federation: Federation, seat: Seat, answer: Answer, noise: Noise, now: float
) -> bool:
    """Inside a transaction: open what the helper has opened; whether there is a new sum.

    `MessageError` for an answer that is not to be used.
    """
    heading = answer.heading
    pool = pool_of(heading)
    row = store.cohort(federation.key, pool, heading.number)
    if heading.task != federation.digest or row is None:
        raise MessageError(f"cohort {heading.number} of {pool}: was never proposed")
    if row.state != PENDING:
        return False  # it was answered before
    ring = seat.reader(federation, heading.stage).ring
    theirs = ring.unpack(answer.total)
    least = secure_of(federation.task).cohort
    if len(answer.ids) < least:
        raise MessageError(f"a cohort of {len(answer.ids)} reports: at least {least} are needed")
    held = common(answer.ids, set(store.share_ids(federation.key, pool)))
    if len(held) < len(answer.ids):
        _give_up(store, federation, row, answer, held)
        return False
    own, records = own_sum(store, federation, seat, heading, answer.ids, noise)
    done = CohortRow(
        pool=pool,
        number=heading.number,
        state=OPENED,
        at=now,
        devices=len(answer.ids),
        records=records,
        own=ring.pack(own),
        other=answer.total,
    )
    places = store.share_places(federation.key, answer.ids)
    store.close_cohort(federation.key, done, answer.ids)
    totals = store.totals(federation.key, heading.stage, heading.round)
    totals = add(totals, opened(ring, own, theirs), done.devices, records)
    store.put_totals(federation.key, heading.stage, totals, heading.round)
    merging.take(store, federation, places)
    log.info("task %r: the sum of %d reports is open", federation.name, done.devices)
    return True


def _give_up(
    store: Store, federation: Federation, row: CohortRow, answer: Answer, held: tuple[bytes, ...]
) -> None:
    """Close a cohort that the helper has opened and that is not all here: this store is older."""
    lost = CohortRow(pool=row.pool, number=row.number, state=LOST, at=row.at, devices=len(held))
    store.close_cohort(federation.key, lost, held)
    log.error(
        "task %r: the helper has opened %d reports of which only %d are here: their sum is lost. "
        "Was this store restored from a copy?",
        federation.name,
        len(answer.ids),
        len(held),
    )
