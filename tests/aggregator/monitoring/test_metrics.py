"""What Prometheus and a watchdog read."""

from __future__ import annotations

import json
import logging
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from aggregator.core import Aggregator
from aggregator.monitoring.http import HttpServer, pages
from aggregator.monitoring.logs import JsonFormatter
from aggregator.monitoring.metrics import Metrics
from aggregator.store.sqlite import SqliteStore
from fsir.errors import FsirError
from tests.aggregator.federations import make_task, report, topic

TASK = make_task(p=3, records=60)


def samples(metrics: Metrics) -> dict[str, float]:
    """Everything that is exposed, by name and labels."""
    families = text_string_to_metric_families(metrics.text().decode())
    return {
        " ".join(
            [sample.name, *(f"{key}={value}" for key, value in sorted(sample.labels.items()))]
        ): sample.value
        for family in families
        for sample in family.samples
    }


def test_the_metrics_tell_what_happened(tmp_path: Path) -> None:
    made = Aggregator(SqliteStore(tmp_path / "s.db"), [TASK], debounce=0.0)
    made.start(0.0)
    metrics = Metrics(made)
    for i in range(4):
        made.take(topic(TASK, f"d{i}"), report(TASK, f"d{i}", i))
    made.take(topic(TASK, "d0"), report(TASK, "d0", 0))
    made.take(topic(TASK, "d9"), b"garbage")
    made.take("elsewhere", b"garbage")
    assert samples(metrics)["fsir_waiting_reports"] == 7
    made.commit(1.0)
    made.estimate(2.0)
    metrics.merged(7, 0.01)
    metrics.answered(0.02)
    metrics.estimated(0.5)
    found = samples(metrics)
    assert found["fsir_reports_total task=test verdict=counted"] == 4
    assert found["fsir_reports_total task=test verdict=duplicate"] == 1
    assert found["fsir_reports_total task=test verdict=refused"] == 1
    assert found["fsir_refused_total reason=malformed task=test"] == 1
    assert found["fsir_refused_total reason=wrong topic task="] == 1
    assert found["fsir_waiting_reports"] == 0
    assert found["fsir_subspace_version task=test"] == 1
    assert found["fsir_subspace_devices task=test"] == 4
    assert found["fsir_subspace_records task=test"] == 240
    assert 0.0 < found["fsir_expected_error task=test"] < 2.0
    assert (found["fsir_batch_reports_sum"], found["fsir_lag_seconds"]) == (7, 0.02)
    assert found["fsir_merge_seconds_count"] == found["fsir_estimate_seconds_count"] == 1
    assert not any("d0" in name for name in found)  # no metric names a device


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


def get(port: int, path: str) -> tuple[int, str, bytes]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["Content-Type"], error.read()


def test_the_pages() -> None:
    health: dict[str, object] = {"ok": True, "connected": True}
    server = HttpServer("127.0.0.1:0", pages(lambda: b"metric 1\n", lambda: health))
    try:
        status, kind, body = get(server.port, "/metrics?x=1")
        assert (status, body) == (200, b"metric 1\n")
        assert kind.startswith("text/plain; version=0.0.4")
        assert get(server.port, "/healthz")[0] == 200
        health["ok"] = False
        status, _, body = get(server.port, "/healthz")
        assert (status, json.loads(body)["ok"]) == (503, False)
        assert get(server.port, "/")[0] == 404
        assert b"/metrics" in get(server.port, "/")[2]
        with pytest.raises(FsirError, match="choose another port"):
            HttpServer(f"127.0.0.1:{server.port}", {})
    finally:
        server.close()


@pytest.mark.parametrize("address", ["", "9100", "localhost", "host:port", "host:99999"])
def test_an_address_that_is_none_is_named(address: str) -> None:
    with pytest.raises(FsirError, match="HOST:PORT"):
        HttpServer(address, {})


def test_json_logs_are_one_object_per_line() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError:
        record = logging.getLogger("fsir.test").makeRecord(
            "fsir.test",
            logging.ERROR,
            "file",
            1,
            "failed on %r",
            ("a\nb",),
            __import__("sys").exc_info(),
        )
    line = JsonFormatter().format(record)
    found = json.loads(line)
    assert "\n" not in line
    assert (found["level"], found["logger"], found["message"]) == (
        "error",
        "fsir.test",
        "failed on 'a\\nb'",
    )
    assert "ValueError: two" in found["exception"]
    assert found["time"].endswith("+00:00")
