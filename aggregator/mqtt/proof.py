"""Whether a shared subscription delivers: a message to oneself says so.

Some brokers grant `$share` and then deliver nothing (NATS and RabbitMQ do), and a worker would wait
for reports for ever without a word. So each worker publishes a number on a topic of its own, which
it reads in the same group as the reports.
"""

from __future__ import annotations

import hashlib
import logging
import secrets

from aggregator.publication import Publication
from fsir.wire.messages import topic

log = logging.getLogger("fsir.aggregator")
AGAIN_SECONDS = 5.0  # between messages while none has come back
CHECK_SECONDS = 60.0  # and afterwards
PATIENCE_SECONDS = 15.0  # with the broker, before it is said aloud
_NUMBER_BYTES = 16
_UNPROVEN = (
    "the broker has granted the shared subscription of --share {}, and delivers nothing of it: no "
    "message to ourselves on {} has come back. NATS and RabbitMQ do that: leave --share out, or "
    "take mosquitto. If this is mosquitto, its access list must let the aggregator read and write "
    "there (deploy/mosquitto/acl)"
)


class ShareProof:
    """Messages to oneself through one group; `now` is any clock that never goes back.

    >>> proof = ShareProof("many", "worker-1", "activity")
    >>> proof.connected(0.0)
    >>> (probe,) = proof.due(0.0)
    >>> proof.trouble == "", proof.take(probe.topic, probe.payload, 0.1), proof.trouble == ""
    (False, True, True)
    """

    def __init__(self, group: str, worker: str, task: str) -> None:
        # A name may hold what a topic cannot.
        own = hashlib.sha256(worker.encode()).hexdigest()[:16]
        self._topic = topic(task, "probe", own)
        self._group = group
        self._words = _UNPROVEN.format(group, self._topic)
        self._number = b""
        self._due = 0.0
        self._since = 0.0  # the last proof, or the beginning of the connection
        self._told = False
        self.trouble = self._words

    @property
    def subscription(self) -> str:
        """What to subscribe to, beside the reports."""
        return f"$share/{self._group}/{self._topic}"

    def connected(self, now: float) -> None:
        """On a new connection, maybe to another broker, nothing is proven yet."""
        self._number = secrets.token_bytes(_NUMBER_BYTES)
        self._due = now
        self._since = now
        self._told = False
        self.trouble = self._words

    def due(self, now: float) -> list[Publication]:
        """The message to ourselves, if it is time for one."""
        if now < self._due:
            return []
        if now - self._since >= CHECK_SECONDS + PATIENCE_SECONDS:
            self.trouble = self._words  # it has delivered once, and does no more
        if self.trouble and not self._told and now - self._since >= PATIENCE_SECONDS:
            self._told = True
            log.error("%s", self.trouble)
        self._due = now + AGAIN_SECONDS
        return [Publication(self._topic, self._number, retain=False)]

    def take(self, place: str, payload: bytes, now: float) -> bool:
        """Whether a message is one of these; it proves something if it is of this connection."""
        if place != self._topic:
            return False
        if payload == self._number:
            if self._told:
                log.info("the shared subscription of --share %s delivers now", self._group)
            self.trouble = ""
            self._told = False
            self._since = now
            self._due = now + CHECK_SECONDS
        return True
