"""The Grafana dashboard shows metrics that exist, in panels that do not cover each other."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import pytest

from tests.deploy.monitoring.promql import Parser, kept_labels, selectors
from tests.deploy.tools import DEPLOY

DASHBOARD = json.loads((DEPLOY / "grafana/dashboard.json").read_text())
PANELS: list[dict[str, Any]] = DASHBOARD["panels"]
EXPRESSIONS = [
    (panel["title"], target["expr"], target["legendFormat"])
    for panel in PANELS
    for target in panel["targets"]
]
BESIDE = {"job", "instance"}


def test_it_can_be_imported_anywhere() -> None:
    """Which Prometheus it reads is asked, and no address of ours is in it."""
    assert {"title", "uid", "schemaVersion", "panels", "templating"} <= set(DASHBOARD)
    assert "id" not in DASHBOARD
    variables = {variable["name"]: variable for variable in DASHBOARD["templating"]["list"]}
    assert variables["datasource"]["query"] == "prometheus"
    assert variables["task"]["query"] == "label_values(fsir_devices, task)"
    for panel in PANELS:
        assert panel["datasource"]["uid"] == "${datasource}"
        assert all(target["datasource"]["uid"] == "${datasource}" for target in panel["targets"])
    assert not re.search(r"https?://", json.dumps(DASHBOARD))


def test_panels_have_names_and_do_not_cover_each_other() -> None:
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    assert len({panel["title"] for panel in PANELS}) == len(PANELS)
    covered = set()
    for panel in PANELS:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        columns = range(place["x"], place["x"] + place["w"])
        rows = range(place["y"], place["y"] + place["h"])
        cells = set(itertools.product(columns, rows))
        assert not covered & cells
        covered |= cells


@pytest.mark.broker
@pytest.mark.parametrize(("title", "expression", "legend"), EXPRESSIONS)
def test_every_metric_and_label_exists(
    title: str, expression: str, legend: str, scraped: dict[str, set[str]]
) -> None:
    tree = Parser(expression).parse()
    used = selectors(tree)
    assert used, title
    for selector in used:
        assert selector.metric in scraped
        assert {label for label, _, _ in selector.matchers} <= scraped[selector.metric]
    every = set().union(*(scraped[selector.metric] for selector in used)) | BESIDE
    assert kept_labels(tree) <= every
    shown = kept_labels(tree) or every
    assert set(re.findall(r"\{\{(\w+)\}\}", legend)) <= shown


@pytest.mark.broker
def test_every_metric_is_on_it_or_has_a_reason_not_to_be(scraped: dict[str, set[str]]) -> None:
    shown = {
        selector.metric
        for _, text, _ in EXPRESSIONS
        for selector in selectors(Parser(text).parse())
    }
    of_histograms = re.compile(r"_(bucket|sum|count|created)$")
    others = {name for name in scraped if not of_histograms.search(name)} - shown
    # Told by the others: devices and records in the subspace and its version, the roster's size.
    assert others == {
        "fsir_subspace_devices",
        "fsir_subspace_records",
        "fsir_subspace_version",
        "fsir_roster_devices",
        "fsir_waiting_reports",
    }
