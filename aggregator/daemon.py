"""The daemon: connects an `Aggregator` to a broker.

One thread reads, merges, commits, acknowledges and answers, in that order: a message is acknowledged only after its
transaction is on the disk, a receipt is sent only after that. Estimates run in a second thread. Whenever nothing more
comes in, what was taken is committed at once: a broker with a small window would otherwise wait for us, and we for it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from aggregator.core import Aggregator
from aggregator.monitoring.metrics import Metrics
from aggregator.mqtt.connector import Connector
from aggregator.mqtt.wire import ConnectionLostError, Wire
from aggregator.publication import Publication
from aggregator.results.estimates import Estimation
from aggregator.store.base import StoreBusyError
from fsir.errors import FsirError
from fsir.net.broker import Broker
from fsir.wire.messages import Subspace, topic

log = logging.getLogger("fsir.aggregator")
MOST_MESSAGES = 1000  # per transaction, about: waiting for the disk is what a batch shares ...
MOST_BYTES = 16 * 2**20  # ... and their size, which bounds our memory
IDLE_SECONDS = 0.2  # longest wait for the socket, so that timers and a stop are noticed
FIRST_RETRY, SLOWEST_RETRY = 0.5, 30.0
STALE_SECONDS = 60.0  # a loop that has not turned for so long is not healthy


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
        metrics: Metrics | None = None,
        reached: Callable[[str], None] = _nowhere,
    ) -> None:
        self.aggregator = aggregator
        self.metrics = metrics or Metrics(aggregator)
        self._connector = Connector(broker, client_id, self._deliver, version)
        self._wire: Wire | None = None
        self._share = share
        self._reached = reached
        self._stopping = False
        self._connected = False
        self._trouble = ""  # why the store cannot be written
        self._turned = time.monotonic()
        self._next_look = 0.0  # at the timers
        self._unacknowledged: list[int] = []
        self._bytes = 0
        self._oldest = 0.0  # when the first message of the batch came
        self._estimator = ThreadPoolExecutor(1, "estimate")
        self._running: list[tuple[Estimation, Future[Subspace | None]]] = []

    def stop(self) -> None:
        """Finish the batch and leave; may be called from a signal handler or another thread."""
        self._stopping = True

    def health(self) -> dict[str, object]:
        """For `/healthz`: `ok` is false while nothing can be counted."""
        turning = time.monotonic() - self._turned < STALE_SECONDS
        return {
            "ok": self._connected and turning and not self._trouble,
            "connected": self._connected,
            "store": self._trouble or "ok",
            "turning": turning,
        }

    def run(self) -> None:
        """Serve until stopped. Raises only what waiting does not mend: a refused login, a store of another kind."""
        delay = FIRST_RETRY
        try:
            while not self._stopping:
                try:
                    self._session()
                except (ConnectionLostError, StoreBusyError) as error:
                    log.warning("%s", error)
                except FsirError:
                    raise
                except (
                    Exception
                ):  # whatever it is: what was not acknowledged comes again on a new connection
                    log.exception("unexpected; starting a new connection")
                delay = FIRST_RETRY if self._connected else min(2 * delay, SLOWEST_RETRY)
                self._forget()
                self._sleep(delay)
        finally:
            self._estimator.shutdown(wait=False, cancel_futures=True)
            self._forget()

    def _sleep(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not self._stopping and time.monotonic() < end:
            self._turned = time.monotonic()
            time.sleep(min(0.1, seconds))

    def _forget(self) -> None:
        """Unacknowledged messages come again, under other numbers."""
        if self._wire is not None:
            self._wire.close()
            self._wire = None
        self._connected = False
        self.aggregator.drop()
        self._unacknowledged, self._bytes = [], 0

    def _session(self) -> None:
        """One connection, from its first packet to its end."""
        aggregator = self.aggregator
        retained = aggregator.start(
            time.time()
        )  # before anything else: it may find that this store is not ours
        wire = self._wire = self._connector.open()
        reports = [topic(name, "report", "+") for name in aggregator.federations]
        wire.subscribe(
            [f"$share/{self._share}/{name}" if self._share else name for name in reports]
        )
        wire.publish(retained)
        self._connected = True
        log.info("connected with MQTT %s, %d task(s)", wire.version, len(aggregator.federations))
        while not self._stopping:
            self._turned = time.monotonic()
            room = MOST_MESSAGES - aggregator.waiting
            came = wire.read(0.0 if aggregator.waiting else IDLE_SECONDS, room, MOST_BYTES)
            if aggregator.waiting and (came == 0 or came >= room or self._bytes >= MOST_BYTES):
                self._flush(wire)
            self._timers(wire)
        if aggregator.waiting:
            self._flush(wire)

    def _deliver(self, topic: str, payload: bytes, mid: int) -> None:
        if not self.aggregator.waiting:
            self._oldest = time.monotonic()
        self.aggregator.take(topic, payload)
        self._bytes += len(payload)
        if mid:
            self._unacknowledged.append(mid)

    def _flush(self, wire: Wire) -> None:
        """Commit, then acknowledge, then answer."""
        count, start = self.aggregator.waiting, time.monotonic()
        receipts = self._commit()
        self.metrics.merged(count, time.monotonic() - start)
        log.debug("%d reports, %d answers", count, len(receipts))
        self._reached("committed")
        mids, self._unacknowledged, self._bytes = self._unacknowledged, [], 0
        wire.acknowledge(mids)
        self._reached("acknowledged")
        wire.publish(receipts)
        self.metrics.answered(time.monotonic() - self._oldest)
        self._reached("answered")

    def _commit(self) -> list[Publication]:
        """Insist: as long as the store cannot be written nothing is acknowledged, and nothing more is read."""
        delay = FIRST_RETRY
        while True:
            try:
                receipts = self.aggregator.commit(time.time())
            except StoreBusyError as error:
                self._trouble = str(error)
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
                delay = min(2 * delay, SLOWEST_RETRY)
            else:
                self._trouble = ""
                return receipts

    def _timers(self, wire: Wire) -> None:
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + IDLE_SECONDS
        now = time.time()
        try:
            wire.publish(self.aggregator.tick(now) + self.aggregator.receipts())
            for job, future in [entry for entry in self._running if entry[1].done()]:
                self._running.remove((job, future))
                try:
                    result = future.result()
                except StoreBusyError as error:
                    log.error("the store cannot be read (%s); trying again", error)
                    continue
                except Exception:  # an estimate that fails must not stop the intake
                    self.aggregator.estimating.failed(job)
                    continue
                wire.publish(self.aggregator.estimating.publish(job, result, now))
            if not self._running:
                self._running = [
                    (job, self._estimator.submit(self._estimate, job))
                    for job in self.aggregator.jobs(now)
                ]
        except StoreBusyError as error:
            log.error("the store cannot be written (%s); trying again", error)

    def _estimate(self, job: Estimation) -> Subspace | None:
        start = time.monotonic()
        result = job.run()
        self.metrics.estimated(time.monotonic() - start)
        return result
