"""What Prometheus reads."""

from __future__ import annotations

from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from aggregator.core import Aggregator
from aggregator.monitoring.metrics import Metrics
from aggregator.store.sqlite import SqliteStore
from fsir.wire.messages import Ask, encode
from fsir.wire.messages import topic as messages_topic
from tests.aggregator.federations import make_task, report, topic

TASK = make_task(p=3, records=60)


def samples(metrics: Metrics) -> dict[str, float]:
    """Everything that is exposed, by name and labels."""
    values = {}
    for family in text_string_to_metric_families(metrics.text().decode()):
        for sample in family.samples:
            labels = (f"{key}={value}" for key, value in sorted(sample.labels.items()))
            values[" ".join([sample.name, *labels])] = sample.value
    return values


def test_the_metrics_tell_what_happened(tmp_path: Path) -> None:
    made = Aggregator(SqliteStore(tmp_path / "s.db"), [TASK], debounce=0.0)
    made.start(0.0)
    metrics = Metrics(made)
    for i in range(4):
        made.take(topic(TASK, f"d{i}"), report(TASK, f"d{i}", i))
    made.take(topic(TASK, "d0"), report(TASK, "d0", 0))
    made.take(topic(TASK, "d9"), b"garbage")
    made.take("elsewhere", b"garbage")
    for number in (b"1" * 16, b"2" * 16):
        ask = encode(Ask(TASK.digest, "d0", number))
        made.take(messages_topic("test", "ask", "d0"), ask)
    assert samples(metrics)["fsir_waiting_reports"] == 9
    made.commit(1.0)
    made.estimate(2.0)
    metrics.merged(7, 0.01)
    metrics.answered(0.02)
    metrics.estimated(0.5)
    values = samples(metrics)
    assert values["fsir_reports_total task=test verdict=counted"] == 4
    assert values["fsir_reports_total task=test verdict=duplicate"] == 1
    assert values["fsir_reports_total task=test verdict=refused"] == 1
    assert values["fsir_refused_total reason=malformed task=test"] == 1
    assert values["fsir_refused_total reason=wrong topic task="] == 1
    assert values["fsir_asks_total answer=confirmed task=test"] == 1
    assert values["fsir_asks_total answer=another task=test"] == 1
    assert values["fsir_waiting_reports"] == 0
    assert values["fsir_subspace_version task=test"] == 1
    assert values["fsir_subspace_devices task=test"] == 4
    assert values["fsir_subspace_records task=test"] == 240
    assert 0.0 < values["fsir_expected_error task=test"] < 2.0
    assert (values["fsir_batch_reports_sum"], values["fsir_lag_seconds"]) == (7, 0.02)
    assert values["fsir_merge_seconds_count"] == values["fsir_estimate_seconds_count"] == 1
    assert not any("d0" in name for name in values)  # no metric names a device


def test_after_a_restart_the_metrics_know_the_subspace(tmp_path: Path) -> None:
    first = Aggregator(SqliteStore(tmp_path / "s.db"), [TASK], debounce=0.0)
    first.start(0.0)
    first.take(topic(TASK, "a"), report(TASK, "a", 1))
    first.commit(1.0)
    first.estimate(2.0)
    first.store.close()
    again = Aggregator(SqliteStore(tmp_path / "s.db"), [TASK])
    again.start(0.0)
    assert samples(Metrics(again))["fsir_subspace_version task=test"] == 1
