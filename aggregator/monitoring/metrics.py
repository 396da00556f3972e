"""What Prometheus may ask. No metric names a device.

Counters and gauges are read from the aggregator when somebody asks, so that counting a report costs
nothing extra.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from aggregator.core import Aggregator
from aggregator.reasons import REASONS
from fsir.wire.messages import Subspace

_SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
_SIZES = (1, 3, 10, 30, 100, 300, 1000)
# Of each task's subspace: the metric, what it tells, and where that stands.
_OF_A_SUBSPACE: tuple[tuple[str, str, Callable[[Subspace], float]], ...] = (
    ("fsir_subspace_version", "version on the wire", lambda subspace: subspace.version),
    ("fsir_expected_error", "expected projection loss", lambda subspace: subspace.expected_error),
    ("fsir_subspace_devices", "devices in the subspace", lambda subspace: subspace.devices),
    ("fsir_subspace_records", "records in the subspace", lambda subspace: subspace.records),
)


class Metrics:
    """The metrics of one aggregator, in a registry of their own."""

    def __init__(self, aggregator: Aggregator) -> None:
        self._aggregator = aggregator
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

    def text(self) -> bytes:
        """Everything, as Prometheus reads it."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """What is read from the aggregator when somebody asks."""
        yield from self._verdicts()
        yield from self._asks()
        yield GaugeMetricFamily(
            "fsir_waiting_reports", "taken, not yet committed", value=self._aggregator.waiting
        )
        yield from self._subspaces()

    def _verdicts(self) -> Iterator[Metric]:
        reports = CounterMetricFamily(
            "fsir_reports", "reports by verdict", labels=["task", "verdict"]
        )
        refused = CounterMetricFamily(
            "fsir_refused", "refused reports by reason", labels=["task", "reason"]
        )
        totals: dict[tuple[str, str], int] = {}
        # A copy: the other thread counts on.
        for (task, outcome), count in dict(self._aggregator.verdicts).items():
            verdict = "refused" if outcome in REASONS else outcome
            totals[task, verdict] = totals.get((task, verdict), 0) + count
            if verdict == "refused":
                refused.add_metric([task, outcome], count)
        for (task, verdict), count in totals.items():
            reports.add_metric([task, verdict], count)
        yield reports
        yield refused

    def _asks(self) -> Iterator[Metric]:
        asks = CounterMetricFamily(
            "fsir_asks", "asks of devices by answer", labels=["task", "answer"]
        )
        for labels, count in dict(self._aggregator.asks).items():
            asks.add_metric(labels, count)
        yield asks

    def _subspaces(self) -> Iterator[Metric]:
        latest = dict(self._aggregator.estimating.latest)
        for name, text, value in _OF_A_SUBSPACE:
            family = GaugeMetricFamily(name, text, labels=["task"])
            for task, subspace in latest.items():
                family.add_metric([task], value(subspace))
            yield family
