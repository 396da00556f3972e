"""What one aggregator makes of what the other one says."""

from __future__ import annotations

import logging

from aggregator.federation import Federation
from aggregator.publication import Publication
from aggregator.reasons import Refusal
from aggregator.secure import helping, leading
from aggregator.secure.seat import Seat, cohort_topic
from aggregator.store.base import Store
from fsir.errors import MessageError
from fsir.privacy.noise import Noise
from fsir.secure.keys import verifier
from fsir.secure.report import secure_of
from fsir.task.secure import HELPER, LEADER
from fsir.wire.cohort import Answer, CohortMessage, Declined, Proposal, decode_cohort

log = logging.getLogger("fsir.aggregator")


class Hearing:
    """Reads messages of the other aggregator; the helper answers, the leader opens."""

    def __init__(self, store: Store, seat: Seat, noise: Noise) -> None:
        self._store = store
        self._seat = seat
        self._noise = noise

    def hear(self, federation: Federation, raw: bytes, now: float) -> list[Publication] | Refusal:
        """Inside a transaction: what to publish, or why the message is refused."""
        try:
            message = decode_cohort(raw, verifier(secure_of(federation.task)))
            return self._respond(federation, message, now)
        except MessageError as error:
            return Refusal("wrong cohort", str(error))

    def _respond(
        self, federation: Federation, message: CohortMessage, now: float
    ) -> list[Publication]:
        about = (self._store, federation, self._seat)
        if isinstance(message, Proposal) and self._seat.role == HELPER:
            said = helping.answer(*about, message, self._noise, now)
            place = cohort_topic(federation.task, HELPER)
            return [Publication(place, said, retain=False)]
        if isinstance(message, Answer) and self._seat.role == LEADER:
            leading.open_answer(*about, message, self._noise, now)
        elif isinstance(message, Declined) and self._seat.role == LEADER:
            log.info("task %r: the helper opens nothing yet: %s", federation.name, message.reason)
        else:
            raise MessageError(f"a message of our own role, the {self._seat.role}")
        return []
