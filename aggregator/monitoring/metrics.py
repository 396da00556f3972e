"""What Prometheus may ask. No metric names a device.

Counters and gauges are read from the aggregator when somebody asks, so that counting a report costs nothing extra.
"""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from aggregator.core import Aggregator
from aggregator.reasons import REASONS

_SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
_SIZES = (1, 3, 10, 30, 100, 300, 1000)


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
            "fsir_lag_seconds", "from the arrival of the oldest report of the last batch to its receipt",
            registry=self._registry,
        )  # fmt: skip

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
        """What is read from the aggregator at this moment."""
        reports = CounterMetricFamily(
            "fsir_reports", "reports by verdict", labels=["task", "verdict"]
        )
        refused = CounterMetricFamily(
            "fsir_refused", "refused reports by reason", labels=["task", "reason"]
        )
        totals: dict[tuple[str, str], int] = {}
        for (task, outcome), count in dict(
            self._aggregator.verdicts
        ).items():  # a copy: the other thread counts on
            verdict = "refused" if outcome in REASONS else outcome
            totals[task, verdict] = totals.get((task, verdict), 0) + count
            if verdict == "refused":
                refused.add_metric([task, outcome], count)
        for (task, verdict), count in totals.items():
            reports.add_metric([task, verdict], count)
        yield reports
        yield refused
        yield GaugeMetricFamily(
            "fsir_waiting_reports", "taken, not yet committed", value=self._aggregator.waiting
        )
        version = GaugeMetricFamily("fsir_subspace_version", "version on the wire", labels=["task"])
        error = GaugeMetricFamily(
            "fsir_expected_error", "expected projection loss", labels=["task"]
        )
        devices = GaugeMetricFamily(
            "fsir_subspace_devices", "devices in the subspace", labels=["task"]
        )
        records = GaugeMetricFamily(
            "fsir_subspace_records", "records in the subspace", labels=["task"]
        )
        for task, subspace in dict(self._aggregator.estimating.latest).items():
            version.add_metric([task], subspace.version)
            error.add_metric([task], subspace.expected_error)
            devices.add_metric([task], subspace.devices)
            records.add_metric([task], subspace.records)
        yield from (version, error, devices, records)
