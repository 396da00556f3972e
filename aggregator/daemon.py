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

from aggregator.aggregator import Aggregator, Estimation
from aggregator.connection import Address, Connection, ConnectionLostError
from aggregator.store import StoreBusyError
from fsir.messages import Subspace, topic

LOG = logging.getLogger("fsir.aggregator")
MOST_MESSAGES = 500  # per transaction ...
MOST_BYTES = 16 * 2**20  # ... and their size, which bounds our memory
IDLE_SECONDS = 0.2  # longest wait for the socket, so that timers and a stop are noticed
SLOWEST_RETRY = 30.0


def _nowhere(point: str) -> None:
    """Tests stop the process at named points; nothing happens here."""


class Daemon:
    """Runs until `stop` is called, through every loss of connection."""

    def __init__(
        self,
        aggregator: Aggregator,
        address: Address,
        *,
        client_id: str = "fsir-aggregator",
        share: str | None = None,
        version: str | None = None,
        reached: Callable[[str], None] = _nowhere,
    ) -> None:
        self.aggregator = aggregator
        self.connected = False
        self._connection = Connection(address, client_id, self._deliver, version)
        self._share = share
        self._reached = reached
        self._stopping = False
        self._unacknowledged: list[int] = []
        self._bytes = 0
        self._estimator = ThreadPoolExecutor(1, "estimate")
        self._running: list[tuple[Estimation, Future[Subspace | None]]] = []

    def stop(self) -> None:
        """Finish the batch and leave; may be called from a signal handler or another thread."""
        self._stopping = True

    def run(self) -> None:
        """Serve until stopped."""
        delay = 0.5
        try:
            while not self._stopping:
                try:
                    self._session()
                    delay = 0.5
                except ConnectionLostError as error:
                    if self.connected:
                        delay = 0.5
                    self._forget()
                    LOG.warning("%s; trying again in %.1f s", error, delay)
                    self._sleep(delay)
                    delay = min(2 * delay, SLOWEST_RETRY)
        finally:
            self._estimator.shutdown(wait=False, cancel_futures=True)
            self._connection.close()
            self.connected = False

    def _sleep(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not self._stopping and time.monotonic() < end:
            time.sleep(min(0.1, seconds))

    def _forget(self) -> None:
        """Unacknowledged messages come again, under other numbers."""
        self.connected = False
        self.aggregator.drop()
        self._unacknowledged, self._bytes = [], 0

    def _session(self) -> None:
        """One connection, from its first packet to its end."""
        self._connection.open()
        for name in self.aggregator.federations:
            reports = topic(name, "report", "+")
            self._connection.subscribe(f"$share/{self._share}/{reports}" if self._share else reports)
        self._connection.publish(self.aggregator.start(time.time()))
        self.connected = True
        LOG.info("connected with MQTT %s; %d task(s)", self._connection.protocol, len(self.aggregator.federations))
        while not self._stopping:
            waiting = self.aggregator.waiting
            room = MOST_MESSAGES - waiting
            came = self._connection.read(0.0 if waiting else IDLE_SECONDS, room)
            if self.aggregator.waiting and (came == 0 or came >= room or self._bytes >= MOST_BYTES):
                self._flush()
            self._timers()
        if self.aggregator.waiting:
            self._flush()

    def _deliver(self, topic: str, payload: bytes, mid: int) -> None:
        self.aggregator.take(topic, payload)
        self._bytes += len(payload)
        if mid:
            self._unacknowledged.append(mid)

    def _flush(self) -> None:
        delay = 0.1
        while True:
            try:
                receipts = self.aggregator.commit(time.time())
                break
            except StoreBusyError as error:
                LOG.error(
                    "the store cannot be written (%s); nothing is acknowledged, trying again in %.1f s", error, delay
                )
                if self._stopping:
                    raise ConnectionLostError("stopped while the store could not be written") from error
                self._sleep(delay)
                delay = min(2 * delay, SLOWEST_RETRY)
        self._reached("committed")
        mids, self._unacknowledged, self._bytes = self._unacknowledged, [], 0
        self._connection.acknowledge(mids)
        self._reached("acknowledged")
        self._connection.publish(receipts)
        self._reached("answered")

    def _timers(self) -> None:
        now = time.time()
        try:
            self._connection.publish(self.aggregator.tick(now))
            for job, future in [entry for entry in self._running if entry[1].done()]:
                self._running.remove((job, future))
                try:
                    result = future.result()
                except Exception:  # an estimate that fails must not stop the intake
                    self.aggregator.estimating.failed(job)
                    continue
                self._connection.publish(self.aggregator.estimating.publish(job, result, now))
            if not self._running:
                self._running = [(job, self._estimator.submit(job.run)) for job in self.aggregator.jobs(now)]
        except StoreBusyError as error:
            LOG.error("the store cannot be written (%s); trying again", error)
