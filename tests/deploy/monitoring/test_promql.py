"""The reader of PromQL that the other tests rely on says what Prometheus says."""

from __future__ import annotations

import pytest

from tests.deploy.monitoring.promql import Parser, evaluate, kept_labels, labels, selectors

A = labels(task="a")
B = labels(task="b")
SERIES = {
    ("up", A): [(0.0, 1.0), (60.0, 0.0)],
    ("up", B): [(0.0, 1.0), (60.0, 1.0)],
    ("hits_total", A | {("kind", "x")}): [(0.0, 5.0), (30.0, 9.0), (60.0, 2.0)],
    ("hits_total", A | {("kind", "y")}): [(0.0, 1.0), (60.0, 4.0)],
    ("old", A): [(-1000.0, 7.0)],
}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("2 + 3 * 4", 14.0),
        ("(2 + 3) * 4 - 1", 19.0),
        ("time()", 60.0),
        ("up == 0", {A: 0.0}),
        ("up > 0", {B: 1.0}),
        ('up{task="b"}', {B: 1.0}),
        ('up{task!~"a|c"}', {B: 1.0}),
        ("old", {}),
        # 4 in the first step, then a restart from 0 to 2.
        ('increase(hits_total{kind="x"}[1m])', {A | {("kind", "x")}: 6.0}),
        ("sum by (task) (increase(hits_total[1m]))", {A: 9.0}),
        ("sum(increase(hits_total[1m])) by (task) > 10", {}),
        ('60 * sum by (task) (rate(hits_total{kind="x"}[1m]))', {A: 6.0}),
        ("up and up == 1", {B: 1.0}),
        ("up unless up == 1", {A: 0.0}),
        ("up == 0 or up == 1", {A: 0.0, B: 1.0}),
        ("up + up", {A: 0.0, B: 2.0}),
        ("time() - up > 59", {A: 60.0}),
    ],
)
def test_what_an_expression_says(text: str, wanted: object) -> None:
    assert evaluate(text, SERIES, 60.0) == wanted


def test_what_an_expression_uses() -> None:
    text = 'sum by (task, le) (rate(hits_total{kind=~"$kind"}[$__rate_interval])) > 2 * up'
    tree = Parser(text).parse()
    assert [one.metric for one in selectors(tree)] == ["hits_total", "up"]
    assert kept_labels(tree) == {"task", "le"}


@pytest.mark.parametrize(
    "text",
    ["", "up ==", "up{task", "sum by task (up)", "up[5x]", "frobnicate(up)", "up up", "a %% b"],
)
def test_what_is_none_is_a_mistake(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Parser(text).parse()
