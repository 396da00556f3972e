"""The alerts: well-formed, about metrics that exist; each fires for its trouble, and only then."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from tests.deploy.monitoring.promql import Labels, Parser, evaluate, kept_labels, labels, selectors
from tests.deploy.tools import DEPLOY

RULES = yaml.safe_load((DEPLOY / "prometheus/alerts.yaml").read_text())
SCRAPE = yaml.safe_load((DEPLOY / "prometheus/prometheus.yaml").read_text())
ALERTS = {rule["alert"]: rule for group in RULES["groups"] for rule in group["rules"]}
# Prometheus itself makes the first, and puts the others beside every sample.
ITS_OWN = {"up": {"job", "instance"}}
BESIDE = {"job", "instance"}
SEVERITIES = {"critical", "warning", "info"}
DAY = 86400.0


# --- form, as promtool checks it ------------------------------------------------------------------


def test_the_file_has_the_form_of_a_rule_file() -> None:
    assert set(RULES) == {"groups"}
    names = [group["name"] for group in RULES["groups"]]
    assert len(set(names)) == len(names)
    for group in RULES["groups"]:
        assert set(group) <= {"name", "interval", "rules"}
        assert group["rules"]
    rules = [rule["alert"] for group in RULES["groups"] for rule in group["rules"]]
    assert len(set(rules)) == len(rules)


@pytest.mark.parametrize("name", ALERTS)
def test_a_rule_is_complete_and_its_expression_is_understood(name: str) -> None:
    rule = ALERTS[name]
    assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
    assert re.fullmatch(r"Fsir[A-Za-z]+", name)
    assert re.fullmatch(r"\d+[smhd]", rule.get("for", "1m"))
    assert rule["labels"]["severity"] in SEVERITIES
    assert set(rule["annotations"]) == {"summary", "description"}
    Parser(rule["expr"]).parse()


@pytest.mark.parametrize("name", ALERTS)
def test_a_text_uses_only_labels_that_its_alert_has(name: str) -> None:
    rule = ALERTS[name]
    used = set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
    assert used <= _shown(rule["expr"])


def _shown(expression: str) -> set[str]:
    """The labels of what an alert finds: those that a sum keeps, or those of its metric."""
    tree = Parser(expression).parse()
    return kept_labels(tree) or BESIDE | {"task", "state"}


@pytest.mark.broker
@pytest.mark.parametrize("name", ALERTS)
def test_every_metric_and_label_exists(name: str, scraped: dict[str, set[str]]) -> None:
    known = scraped | ITS_OWN
    tree = Parser(ALERTS[name]["expr"]).parse()
    for selector in selectors(tree):
        assert selector.metric in known
        assert {label for label, _, _ in selector.matchers} <= known[selector.metric] | BESIDE
    every = set().union(*(known[selector.metric] for selector in selectors(tree)))
    assert kept_labels(tree) <= every | BESIDE


def test_the_job_is_the_one_that_is_scraped() -> None:
    (job,) = SCRAPE["scrape_configs"]
    assert f'job="{job["job_name"]}"' in ALERTS["FsirAggregatorDown"]["expr"]
    settings = (DEPLOY / "systemd/aggregator.env").read_text()
    assert job["static_configs"][0]["targets"] == re.findall(r"FSIR_HTTP=(\S+)", settings)
    assert SCRAPE["rule_files"] == ["alerts.yaml"]


# --- meaning --------------------------------------------------------------------------------------


def steady(value: float, until: float = DAY) -> list[tuple[float, float]]:
    """The same value for long."""
    return [(60.0 * k, value) for k in range(int(until / 60.0) + 1)]


def growing(per_hour: float, until: float = DAY) -> list[tuple[float, float]]:
    """A counter that grows evenly."""
    return [(at, per_hour * at / 3600.0) for at, _ in steady(0.0, until)]


HERE = labels(instance="i", job="fsir-aggregator")
TASK = HERE | labels(task="t")


def of(**more: str) -> Labels:
    return TASK | labels(**more)


HEALTHY: dict[tuple[str, Labels], Any] = {
    ("up", HERE): steady(1.0),
    ("fsir_broker_connected", HERE): steady(1.0),
    ("fsir_store_writable", HERE): steady(1.0),
    ("fsir_connections_total", HERE): steady(1.0),
    ("fsir_lag_seconds", HERE): steady(0.01),
    ("fsir_merge_seconds_count", HERE): growing(60.0),
    ("fsir_missing_devices", TASK): steady(40.0),
    ("fsir_last_report_timestamp_seconds", TASK): [(at, at) for at, _ in steady(0.0)],
    ("fsir_reports_total", of(verdict="counted")): growing(100.0),
    ("fsir_reports_total", of(verdict="duplicate")): growing(10.0),
    ("fsir_reports_total", of(verdict="refused")): growing(3.0),
    ("fsir_refused_total", of(reason="malformed")): growing(3.0),
    ("fsir_asks_total", of(answer="confirmed")): growing(50.0),
    ("fsir_devices", of(state="unlisted")): steady(0.0),
    ("fsir_devices", of(state="silent")): steady(40.0),
    ("fsir_subspace_angle_degrees", TASK): steady(4.0),
    ("fsir_expected_error", TASK): steady(0.1),
    ("fsir_random_error", TASK): steady(1.2),
}
# For each alert: what must be otherwise for it to fire ...
TROUBLE: dict[str, dict[tuple[str, Labels], Any]] = {
    "FsirAggregatorDown": {("up", HERE): steady(0.0)},
    "FsirBrokerLost": {("fsir_broker_connected", HERE): steady(0.0)},
    "FsirStoreNotWritable": {("fsir_store_writable", HERE): steady(0.0)},
    "FsirThrownOut": {("fsir_connections_total", HERE): growing(60.0)},
    "FsirSlow": {("fsir_lag_seconds", HERE): steady(45.0)},
    "FsirNoReports": {("fsir_last_report_timestamp_seconds", TASK): steady(DAY / 3)},
    "FsirManyRefused": {("fsir_reports_total", of(verdict="refused")): growing(50.0)},
    "FsirImplausible": {("fsir_refused_total", of(reason="implausible")): growing(1.0)},
    "FsirCopies": {("fsir_asks_total", of(answer="another")): growing(1.0)},
    "FsirUnlisted": {("fsir_devices", of(state="unlisted")): steady(2.0)},
    "FsirTurned": {("fsir_subspace_angle_degrees", TASK): steady(50.0)},
}
# ... and what looks like it and is none.
FALSE_ALARMS: list[dict[tuple[str, Labels], Any]] = [
    # Everybody has reported long ago.
    {
        ("fsir_missing_devices", TASK): steady(0.0),
        ("fsir_last_report_timestamp_seconds", TASK): steady(0.0),
    },
    # Two refusals where hardly anything comes.
    {
        ("fsir_reports_total", of(verdict="counted")): growing(1.0),
        ("fsir_reports_total", of(verdict="duplicate")): growing(0.0),
        ("fsir_reports_total", of(verdict="refused")): growing(2.0),
    },
    # A young estimate that nobody trusts yet turns, as it should.
    {
        ("fsir_subspace_angle_degrees", TASK): steady(50.0),
        ("fsir_expected_error", TASK): steady(0.9),
    },
    # The last batch was slow, and none has come since: everybody may have reported.
    {
        ("fsir_lag_seconds", HERE): steady(45.0),
        ("fsir_merge_seconds_count", HERE): steady(7.0),
    },
    # A restart, and one lost connection.
    {("fsir_connections_total", HERE): [*steady(2.0)[:-3], *steady(2.0)[-2:]]},
]


def firing(series: dict[tuple[str, Labels], Any]) -> set[str]:
    """Alerts whose expression holds at the end of the day."""
    return {name for name, rule in ALERTS.items() if evaluate(rule["expr"], series, DAY)}


def test_every_alert_has_its_trouble() -> None:
    assert set(TROUBLE) == set(ALERTS)


def test_a_healthy_federation_is_left_in_peace() -> None:
    assert firing(HEALTHY) == set()


@pytest.mark.parametrize("name", TROUBLE)
def test_an_alert_fires_for_its_trouble_and_no_other_does(name: str) -> None:
    assert firing(HEALTHY | TROUBLE[name]) == {name}


@pytest.mark.parametrize("number", range(len(FALSE_ALARMS)))
def test_what_only_looks_like_trouble_is_none(number: int) -> None:
    assert firing(HEALTHY | FALSE_ALARMS[number]) == set()


def test_a_task_from_which_nothing_has_ever_come_is_noticed() -> None:
    silent = dict(HEALTHY)
    del silent["fsir_last_report_timestamp_seconds", TASK]
    assert firing(silent) == {"FsirNoReports"}
