"""The daemon: connects an `Aggregator` to a broker.

One thread reads, merges, commits, acknowledges and answers, in that order: a message is
acknowledged only after its transaction is on the disk, a receipt is sent only after that. Estimates
run in a second thread. Whenever nothing more comes in, what was taken is committed at once: a
broker with a small window would otherwise wait for us, and we for it.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from typing import Any

from aggregator.core import Aggregator
from aggregator.monitoring.health import Health
from aggregator.monitoring.metrics import Metrics
from aggregator.mqtt.connector import Connector
from aggregator.mqtt.patience import Patience
from aggregator.mqtt.proof import ShareProof
from aggregator.mqtt.wire import ConnectionLostError, Wire
from aggregator.overview import devices
from aggregator.overview.overview import overview
from aggregator.publication import Publication
from aggregator.results.background import Background
from aggregator.store.errors import StoreBusyError
from fsir.errors import FsirError
from fsir.net.backoff import Delays
from fsir.net.broker import Broker

log = logging.getLogger("fsir.aggregator")
MOST_MESSAGES = 1000  # per transaction, about: waiting for the disk is what a batch shares ...
MOST_BYTES = 16 * 2**20  # ... and their size, which bounds our memory
IDLE_SECONDS = 0.2  # longest wait for the socket, so that timers and a stop are noticed
ESTIMATING_SECONDS = 0.02  # the same while an estimate is awaited
FIRST_RETRY_SECONDS = 0.5
LONGEST_RETRY_SECONDS = 30.0
_NAP_SECONDS = 0.1  # a stop is noticed so soon
_CROWDED = (
    "the broker ends every connection right after it was made: another aggregator is most likely "
    "connected as %r, too. Give each its own --worker (and, where the broker goes by the "
    "certificate, its own certificate), or stop one of them; next attempt in %.1f s"
)


def _nowhere(point: str) -> None:
    """Tests stop the process at named points; here nothing happens."""


class Daemon:
    """Runs until `stop` is called, through every loss of connection."""

    def __init__(
        self,
        aggregator: Aggregator,
        broker: Broker,
        *,
        client_id: str = "fsir-aggregator",
        share: str | None = None,
        version: str | None = None,
        reached: Callable[[str], None] = _nowhere,
        delays: Delays | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.aggregator = aggregator
        self.metrics = Metrics(aggregator, self.health)
        self._connector = Connector(broker, client_id, self._deliver, version)
        self._client_id = client_id
        self._wire: Wire | None = None
        self._share = share
        self._proof = None if share is None else self._prove(share)
        self._health = Health(lambda: "" if self._proof is None else self._proof.trouble)
        self._reached = reached
        self._delays = delays or Delays(first=FIRST_RETRY_SECONDS, longest=LONGEST_RETRY_SECONDS)
        self._rng = rng or random.SystemRandom()
        self._patience = Patience(self._delays, self._rng)
        self._stopping = False
        self._opened = 0.0  # when the last connection was made
        self._next_look = 0.0  # at the timers
        self._looks = 0  # in vain, since the store could be written last
        self._unacknowledged: list[int] = []
        self._bytes = 0
        self._oldest = 0.0  # when the first message of the batch came
        self._background = Background(aggregator.estimating, self.metrics.estimated)

    def _prove(self, share: str) -> ShareProof:
        return ShareProof(share, self._client_id, next(iter(self.aggregator.federations)))

    def stop(self) -> None:
        """Finish the batch and leave; may be called from a signal handler or another thread."""
        self._stopping = True

    def health(self) -> dict[str, object]:
        """For `/healthz`: `ok` is false while nothing can be counted."""
        return self._health.shown()

    def overview(self) -> dict[str, Any]:
        """For pages, in any thread: what `status --json` prints, and the health of the daemon."""
        now = time.time()
        with self.aggregator.store.snapshot() as store:
            federations = self.aggregator.federations.values()
            tasks = [overview(store, federation, now) for federation in federations]
        return {"tasks": tasks, "health": self.health()}

    def names(self, task: str, state: str, after: str) -> dict[str, Any] | None:
        """For pages, in any thread: `devices.page` of a task; None if there is no such one."""
        federation = self.aggregator.federations.get(task)
        if federation is None or state not in devices.MEANINGS:
            return None
        with self.aggregator.store.snapshot() as store:
            return devices.page(store, federation, state, after=after, limit=devices.MOST)

    def run(self) -> None:
        """Take reports until stopped.

        Raises only what waiting does not mend: a refused login, a store of another kind.
        """
        try:
            while not self._stopping:
                self._try_session()
                seconds = self._wait_seconds()
                self._forget()
                self._sleep(seconds)
        finally:
            self._background.close()
            self._forget()

    def _wait_seconds(self) -> float:
        """How long to wait after a session; if others use our name, tell what to do about it."""
        if not self._health.connected:
            return self._patience.failed()
        seconds = self._patience.ended(time.monotonic() - self._opened)
        if self._patience.crowded and not self._stopping:
            log.warning(_CROWDED, self._client_id, seconds)
        return seconds

    def _try_session(self) -> None:
        try:
            self._session()
        except (ConnectionLostError, StoreBusyError) as error:
            self._health.fail(str(error))
            if isinstance(error, StoreBusyError):
                self._health.trouble = str(error)
            log.warning("%s", error)
        except FsirError:
            raise
        except Exception:
            # Whatever it is: what was not acknowledged comes again on a new connection.
            log.exception("unexpected; starting a new connection")

    def _sleep(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not self._stopping and time.monotonic() < end:
            self._health.turn()
            time.sleep(min(_NAP_SECONDS, seconds))

    def _forget(self) -> None:
        """Unacknowledged messages come again, under other numbers."""
        if self._wire is not None:
            self._wire.close()
            self._wire = None
        self._health.disconnect()
        self.aggregator.drop()
        self._unacknowledged = []
        self._bytes = 0

    def _session(self) -> None:
        """One connection, from its first packet to its end."""
        # Before anything else: it may find that this store is not ours.
        retained = self.aggregator.start(time.time())
        wire = self._connector.open()
        self._wire = wire
        wire.subscribe(self._topics())
        wire.publish(retained)
        self._opened = time.monotonic()
        self._health.connect()
        count = len(self.aggregator.federations)
        log.info("connected with MQTT %s, %d task(s)", wire.version, count)
        while not self._stopping:
            self._turn(wire)
        if self.aggregator.waiting:
            self._flush(wire)

    def _topics(self) -> list[str]:
        """What to subscribe to; a shared subscription has to prove itself on each connection."""
        topics = self.aggregator.topics(self._share)
        if self._proof is None:
            return topics
        self._proof.connected(time.monotonic())
        return [*topics, self._proof.subscription]

    def _turn(self, wire: Wire) -> None:
        """Take what is there; commit it if there is nothing more, or enough."""
        aggregator = self.aggregator
        self._health.turn()
        room = MOST_MESSAGES - aggregator.waiting
        idle = IDLE_SECONDS if self._background.idle else ESTIMATING_SECONDS
        came = wire.read(0.0 if aggregator.waiting else idle, room, MOST_BYTES)
        if aggregator.waiting and (came == 0 or came >= room or self._bytes >= MOST_BYTES):
            self._flush(wire)
        self._timers(wire)

    def _deliver(self, topic: str, payload: bytes, mid: int) -> None:
        if self._proof is not None and self._proof.take(topic, payload, time.monotonic()):
            if mid and self._wire is not None:
                self._wire.acknowledge([mid])
            return
        if not self.aggregator.waiting:
            self._oldest = time.monotonic()
        self.aggregator.take(topic, payload)
        self._bytes += len(payload)
        if mid:
            self._unacknowledged.append(mid)

    def _flush(self, wire: Wire) -> None:
        """Commit, then acknowledge, then answer."""
        count = self.aggregator.waiting
        start = time.monotonic()
        receipts = self._commit()
        self.metrics.merged(count, time.monotonic() - start)
        log.debug("%d reports, %d answers", count, len(receipts))
        self._reached("committed")
        mids = self._unacknowledged
        self._unacknowledged = []
        self._bytes = 0
        wire.acknowledge(mids)
        self._reached("acknowledged")
        wire.publish(receipts)
        self.metrics.answered(time.monotonic() - self._oldest)
        self._reached("answered")
        if self.aggregator.complete:
            self._next_look = 0.0  # nobody else is awaited

    def _commit(self) -> list[Publication]:
        """Insist: until the store can be written nothing is acknowledged, and nothing more read."""
        attempt = 0
        while True:
            try:
                receipts = self.aggregator.commit(time.time())
            except StoreBusyError as error:
                self._wait_for_store(error, self._delays.after(attempt, self._rng))
                attempt += 1
            else:
                self._health.trouble = ""
                return receipts

    def _wait_for_store(self, error: StoreBusyError, delay: float) -> None:
        self._health.trouble = str(error)
        if self._stopping:
            raise ConnectionLostError(
                f"stopped while the store could not be written: {error}"
            ) from error
        log.error(
            "the store cannot be written (%s): nothing is acknowledged; again in %.1f s",
            error,
            delay,
        )
        self._sleep(delay)

    def _timers(self, wire: Wire) -> None:
        if time.monotonic() < self._next_look and not self._background.ready:
            return
        self._next_look = time.monotonic() + IDLE_SECONDS
        now = time.time()
        try:
            wire.publish(self.aggregator.tick(now))
            wire.publish(self.aggregator.receipts())
            if self._proof is not None:
                wire.publish(self._proof.due(time.monotonic()))
            for publications in self._background.finished(now):
                wire.publish(publications)
            if self._background.idle:
                self._background.start(self.aggregator.jobs(now))
        except StoreBusyError as error:
            self._health.trouble = str(error)
            log.error("the store cannot be written (%s); trying again", error)
            self._next_look = time.monotonic() + self._delays.after(self._looks, self._rng)
            self._looks += 1
        else:
            self._health.trouble = ""
            self._looks = 0
