"""Estimates in a thread of their own, beside the intake."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from aggregator.publication import Publication
from aggregator.results.estimates import Estimated, Estimating, Estimation
from aggregator.store.errors import StoreBusyError

log = logging.getLogger("fsir.aggregator")

_Run = tuple[Estimation, Future[Estimated | None]]


class Background:
    """Runs estimates one after the other; `took` is told how many seconds each of them needed."""

    def __init__(self, estimating: Estimating, took: Callable[[float], None]) -> None:
        self._estimating = estimating
        self._took = took
        self._pool = ThreadPoolExecutor(1, "estimate")
        self._running: list[_Run] = []

    @property
    def idle(self) -> bool:
        """Whether all that was started has been collected."""
        return not self._running

    @property
    def ready(self) -> bool:
        """Whether something can be collected."""
        return any(future.done() for _, future in self._running)

    def start(self, jobs: Sequence[Estimation]) -> None:
        """Estimate these."""
        self._running += [(job, self._pool.submit(self._estimate, job)) for job in jobs]

    def finished(self, now: float) -> Iterator[list[Publication]]:
        """For each estimate that is finished what to publish, if anything."""
        for run in [run for run in self._running if run[1].done()]:
            self._running.remove(run)
            yield self._outcome(*run, now)

    def close(self) -> None:
        """Begin no more estimates, and do not wait for the one that runs."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _outcome(
        self, job: Estimation, future: Future[Estimated | None], now: float
    ) -> list[Publication]:
        try:
            result = future.result()
        except StoreBusyError as error:
            log.error("the store cannot be read (%s); trying again", error)
            return []
        except Exception:  # an estimate that fails must not stop the intake
            self._estimating.failed(job)
            return []
        return self._estimating.publish(job, result, now)

    def _estimate(self, job: Estimation) -> Estimated | None:
        start = time.monotonic()
        result = job.run()
        self._took(time.monotonic() - start)
        return result
