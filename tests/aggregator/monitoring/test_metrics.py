"""What Prometheus reads."""

from __future__ import annotations

from pathlib import Path

from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as openmetrics_families,
)
from prometheus_client.parser import text_string_to_metric_families

from aggregator.core import Aggregator
from aggregator.monitoring.metrics import Metrics
from aggregator.reasons import REASONS
from aggregator.store.sqlite import SqliteStore
from fsir.net.installed import version
from fsir.wire.messages import Ask, encode
from fsir.wire.messages import topic as messages_topic
from tests.aggregator.federations import make_task, report, topic

TASK = make_task(p=3, records=60)


def samples(metrics: Metrics) -> dict[str, float]:
    """Everything that is exposed, by name and labels."""
    values = {}
    for family in text_string_to_metric_families(metrics.shown()[1].decode()):
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
    assert values["fsir_devices state=reported task=test"] == 4
    assert values["fsir_devices state=waiting task=test"] == 0
    assert values["fsir_roster_devices task=test"] == 0
    assert values["fsir_last_report_timestamp_seconds task=test"] == 1.0
    assert 0.0 < values["fsir_forecast_error task=test"] < values["fsir_expected_error task=test"]
    assert 0.3 < values["fsir_expected_accuracy_ratio task=test"] <= 1.0
    assert values["fsir_random_error task=test"] > values["fsir_expected_error task=test"]
    # What is not known is not there: nobody has said how many are expected.
    assert "fsir_expected_devices task=test" not in values
    assert "fsir_subspace_angle_degrees task=test" not in values
    assert not any("d0" in name for name in values)  # no metric names a device


def test_counters_begin_at_zero_so_that_the_first_count_is_seen(tmp_path: Path) -> None:
    made = Aggregator(SqliteStore(tmp_path / "s.db"), [TASK])
    values = samples(Metrics(made))
    for reason in REASONS:
        assert values[f"fsir_refused_total reason={reason} task=test"] == 0
    for verdict in ("counted", "duplicate", "refused"):
        assert values[f"fsir_reports_total task=test verdict={verdict}"] == 0
    for answer in ("confirmed", "another"):
        assert values[f"fsir_asks_total answer={answer} task=test"] == 0


def test_the_roster_is_counted_and_not_named(tmp_path: Path) -> None:
    made = Aggregator(SqliteStore(tmp_path / "s.db"), [TASK], debounce=0.0)
    made.start(0.0)
    metrics = Metrics(made)
    made.store.enrol("test", [f"secret-{i}" for i in range(7)], 0.0)
    for i in range(3):
        made.take(topic(TASK, f"secret-{i}"), report(TASK, f"secret-{i}", i))
    made.commit(5.0)
    made.withdraw("secret-2", 6.0)
    values = samples(metrics)
    assert values["fsir_roster_devices task=test"] == 7
    assert values["fsir_expected_devices task=test"] == 6
    assert values["fsir_missing_devices task=test"] == 4
    assert values["fsir_devices state=silent task=test"] == 4
    assert values["fsir_devices state=withdrawn task=test"] == 1
    assert b"secret" not in metrics.shown()[1]


def test_health_and_version_are_told(tmp_path: Path) -> None:
    made = Aggregator(SqliteStore(tmp_path / "s.db"), [TASK])
    health: dict[str, object] = {"connected": True, "store": "ok", "connections": 3}
    metrics = Metrics(made, lambda: health)
    values = samples(metrics)
    assert values[f"fsir_build_info version={version()}"] == 1
    assert (values["fsir_broker_connected"], values["fsir_store_writable"]) == (1, 1)
    assert values["fsir_connections_total"] == 3
    health |= {"connected": False, "store": "database or disk is full"}
    values = samples(metrics)
    assert (values["fsir_broker_connected"], values["fsir_store_writable"]) == (0, 0)


def test_while_the_store_cannot_be_read_the_rest_is_told(tmp_path: Path) -> None:
    made = Aggregator(SqliteStore(tmp_path / "s.db"), [TASK])
    metrics = Metrics(made)
    assert "fsir_roster_devices task=test" in samples(metrics)
    (tmp_path / "s.db").rename(tmp_path / "gone.db")
    values = samples(metrics)
    assert "fsir_roster_devices task=test" not in values
    assert values["fsir_waiting_reports"] == 0


def test_who_asks_for_openmetrics_gets_it_and_the_same_samples(tmp_path: Path) -> None:
    made = Aggregator(SqliteStore(tmp_path / "s.db"), [TASK], debounce=0.0)
    made.start(0.0)
    for i in range(3):
        made.take(topic(TASK, f"d{i}"), report(TASK, f"d{i}", i))
    made.commit(1.0)
    made.estimate(2.0)
    metrics = Metrics(made, lambda: {"connected": True, "store": "ok", "connections": 1})
    kind, text = metrics.shown("application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    assert kind.startswith("application/openmetrics-text; version=1.0.0")
    assert text.endswith(b"# EOF\n")
    families = list(openmetrics_families(text.decode()))
    # Its own parser is strict about names, units and types.
    names = {sample.name for family in families for sample in family.samples}
    plain = {name.split(" ")[0] for name in samples(metrics)}
    assert names == plain
    assert all(family.documentation for family in families)
    counters = [family for family in families if family.type == "counter"]
    assert {sample.name for family in counters for sample in family.samples} == {
        *("fsir_reports_total", "fsir_refused_total", "fsir_asks_total", "fsir_connections_total"),
    }
    assert metrics.shown()[0].startswith("text/plain; version=0.0.4")


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
