"""Families of metrics: what an aggregator, its store and its health say at this moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
)

from aggregator import asking, merging
from aggregator.core import Aggregator
from aggregator.federation import Federation
from aggregator.overview.devices import MEANINGS, counts, current_stage
from aggregator.overview.progress import Target, target_of
from aggregator.reasons import REASONS
from aggregator.secure.cohorts import lacking
from aggregator.store.base import Store
from aggregator.store.errors import StoreBusyError
from aggregator.store.rows import VersionRow
from fsir.estimate.subspace import random_loss
from fsir.net.installed import version
from fsir.wire.messages import Subspace

# Of each task's subspace: the metric, what it tells, and where that stands.
_OF_A_SUBSPACE: tuple[tuple[str, str, Callable[[Subspace], float | None]], ...] = (
    ("fsir_subspace_version", "version on the wire", lambda subspace: subspace.version),
    ("fsir_expected_error", "expected projection loss", lambda subspace: subspace.expected_error),
    ("fsir_random_error", "projection loss of who knows nothing", lambda s: _random_error(s)),
    (
        "fsir_expected_accuracy_ratio",
        "how often the classifier is expected to be right about those who take no part",
        lambda subspace: subspace.expected_accuracy,
    ),
    ("fsir_subspace_devices", "devices in the subspace", lambda subspace: subspace.devices),
    ("fsir_subspace_records", "records in the subspace", lambda subspace: subspace.records),
    (
        "fsir_subspace_moved_ratio",
        "distance of the subspace to its version before over its expected error",
        lambda subspace: subspace.moved,
    ),
)


def build() -> Metric:
    """Which version runs."""
    return InfoMetricFamily("fsir_build", "the version of FSIR", value={"version": version()})


def health(found: Mapping[str, object]) -> Iterator[Metric]:
    """Whether the daemon can do its work."""
    connected = float(bool(found["connected"]))
    writable = float(found["store"] == "ok")
    yield GaugeMetricFamily("fsir_broker_connected", "1 while connected", value=connected)
    yield GaugeMetricFamily("fsir_store_writable", "0 while it cannot be written", value=writable)
    made = CounterMetricFamily("fsir_connections", "connections made to the broker")
    made.add_metric([], float(str(found["connections"])))
    yield made


def counters(aggregator: Aggregator) -> Iterator[Metric]:
    """What has come in since the start, and what became of it.

    Counters are there from the beginning: of one that appears with its first count nobody could say
    that it has grown.
    """
    yield from _verdicts(aggregator)
    asks = CounterMetricFamily("fsir_asks", "asks of devices by answer", labels=["task", "answer"])
    zeros = dict.fromkeys(product(aggregator.federations, (asking.CONFIRMED, asking.ANOTHER)), 0)
    # A copy: the other thread counts on.
    for labels, count in (zeros | dict(aggregator.asks)).items():
        asks.add_metric(labels, count)
    yield asks
    yield GaugeMetricFamily(
        "fsir_waiting_reports", "taken, not yet committed", value=aggregator.waiting
    )


def _verdicts(aggregator: Aggregator) -> Iterator[Metric]:
    reports = CounterMetricFamily("fsir_reports", "reports by verdict", labels=["task", "verdict"])
    refused = CounterMetricFamily(
        "fsir_refused", "refused reports by reason", labels=["task", "reason"]
    )
    outcomes = (merging.COUNTED, merging.DUPLICATE, *REASONS)
    zeros = dict.fromkeys(product(aggregator.federations, outcomes), 0)
    totals: dict[tuple[str, str], int] = {}
    for (task, outcome), count in (zeros | dict(aggregator.verdicts)).items():
        verdict = "refused" if outcome in REASONS else outcome
        totals[task, verdict] = totals.get((task, verdict), 0) + count
        if verdict == "refused":
            refused.add_metric([task, outcome], count)
    for (task, verdict), count in totals.items():
        reports.add_metric([task, verdict], count)
    yield reports
    yield refused


def subspaces(aggregator: Aggregator) -> Iterator[Metric]:
    """The subspaces on the wire."""
    latest = dict(aggregator.estimating.latest)
    for name, text, value in _OF_A_SUBSPACE:
        yield _gauge(name, text, {task: value(subspace) for task, subspace in latest.items()})


def _random_error(subspace: Subspace) -> float:
    return random_loss(len(subspace.features), subspace.dimension)


@dataclass(frozen=True, kw_only=True)
class _Seen:
    """What the store says of one task."""

    target: Target
    states: Mapping[str, int]
    unopened: int | None
    lacking: int | None
    last_at: float | None
    newest: VersionRow | None


def tasks(aggregator: Aggregator) -> Iterator[Metric]:
    """How far each task is; nothing while the store cannot be read."""
    try:
        with aggregator.store.snapshot() as store:
            seen = {name: _seen(store, each) for name, each in aggregator.federations.items()}
    except StoreBusyError:
        return
    for name, text, value in _OF_A_TASK:
        yield _gauge(name, text, {task: value(each) for task, each in seen.items()})
    by_state = GaugeMetricFamily(
        "fsir_devices", "devices of the current stage by state", labels=["task", "state"]
    )
    for task, each in seen.items():
        for state in MEANINGS:
            by_state.add_metric([task, state], each.states[state])
    yield by_state


def _seen(store: Store, federation: Federation) -> _Seen:
    arrivals = store.arrivals(federation.key, current_stage(federation), 1)
    shown = store.published(federation.key, "subspace")
    versions = store.versions(federation.key, 2) if shown is not None and shown.body else []
    states = counts(store, federation)
    sealed = _sealed(store, federation)
    return _Seen(
        target=target_of(store, federation, states),
        states=states,
        unopened=None if sealed is None else sum(sealed),
        lacking=None if sealed is None else lacking(federation.task, max(sealed, default=0)),
        last_at=arrivals[0] if arrivals else None,
        newest=versions[-1] if versions else None,
    )


def _sealed(store: Store, federation: Federation) -> list[int] | None:
    """How many reports wait for each of the next sums; None where no sums are opened."""
    if federation.task.secure is None:
        return None
    return list(store.waiting_shares(federation.key).values())


# Of each task, as the store knows it.
_OF_A_TASK: tuple[tuple[str, str, Callable[[_Seen], float | None]], ...] = (
    (
        "fsir_expected_devices",
        "that will report, by the roster, --expect or the task",
        lambda seen: seen.target.devices,
    ),
    (
        "fsir_missing_devices",
        "expected, and not counted yet",
        lambda seen: seen.target.missing,
    ),
    ("fsir_roster_devices", "on the roster", lambda seen: seen.states["roster"]),
    (
        "fsir_unopened_reports",
        "sealed reports that wait for a sum, where two aggregators open such",
        lambda seen: seen.unopened,
    ),
    (
        "fsir_lacking_reports",
        "sealed reports that the fullest of the next sums still lacks before it may be opened",
        lambda seen: seen.lacking,
    ),
    (
        "fsir_last_report_timestamp_seconds",
        "when the last report was counted, in seconds since 1970",
        lambda seen: seen.last_at,
    ),
    (
        "fsir_subspace_angle_degrees",
        "largest angle between the subspace and its version before",
        lambda seen: seen.newest.angle if seen.newest else None,
    ),
    (
        "fsir_forecast_error",
        "expected projection loss with twice as many devices",
        lambda seen: seen.newest.forecast_error if seen.newest else None,
    ),
    (
        "fsir_round",
        "the newest round in the subspace",
        lambda seen: seen.newest.round if seen.newest else None,
    ),
    (
        "fsir_drift_round",
        "the round since which something has changed that noise does not explain",
        lambda seen: seen.newest.drift if seen.newest else None,
    ),
)


def _gauge(name: str, text: str, values: Mapping[str, float | None]) -> Metric:
    """One value for each task that has one."""
    family = GaugeMetricFamily(name, text, labels=["task"])
    for task, value in values.items():
        if value is not None:
            family.add_metric([task], value)
    return family
