"""What Prometheus may ask. No metric names a device.

Counters and gauges are read from the aggregator when somebody asks, so that counting a report costs
nothing extra.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Gauge, Histogram
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder

from aggregator.core import Aggregator
from aggregator.monitoring import families

_SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
_SIZES = (1, 3, 10, 30, 100, 300, 1000)

Health = Callable[[], Mapping[str, object]]


class Metrics:
    """The metrics of one aggregator, in a registry of their own."""

    def __init__(self, aggregator: Aggregator, health: Health | None = None) -> None:
        self._aggregator = aggregator
        self._health = health
        self._registry = CollectorRegistry()
        self._registry.register(self)
        self._batch = self._histogram("fsir_batch_reports", "reports per transaction", _SIZES)
        self._merge = self._histogram(
            "fsir_merge_seconds", "time to check, merge and commit a batch", _SECONDS
        )
        self._estimate = self._histogram(
            "fsir_estimate_seconds", "time to estimate the subspace", _SECONDS
        )
        self._lag = Gauge(
            "fsir_lag_seconds",
            "from the arrival of the oldest report of the last batch to its receipt",
            registry=self._registry,
        )

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(name, text, buckets=buckets, registry=self._registry)

    def merged(self, count: int, seconds: float) -> None:
        """A batch was committed."""
        self._batch.observe(count)
        self._merge.observe(seconds)

    def answered(self, seconds: float) -> None:
        """The receipts of a batch are out."""
        self._lag.set(seconds)

    def estimated(self, seconds: float) -> None:
        """A subspace was estimated."""
        self._estimate.observe(seconds)

    def shown(self, accept: str = "") -> tuple[str, bytes]:
        """Content type and text of everything, in the format that an Accept header asks for."""
        encode, kind = choose_encoder(accept)
        return kind, encode(self._registry)

    def collect(self) -> Iterator[Metric]:
        """What is read from the aggregator when somebody asks."""
        yield families.build()
        yield from families.counters(self._aggregator)
        yield from families.subspaces(self._aggregator)
        yield from families.tasks(self._aggregator)
        if self._health is not None:
            yield from families.health(self._health())
