"""The page as HTML: all figures are those of the overview, whatever state the task is in."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aggregator.core import Aggregator
from aggregator.daemon import Daemon
from aggregator.monitoring.http import Request
from aggregator.page import document
from aggregator.page.routes import LivePage
from aggregator.page.terms import TERMS
from fsir.estimate.directions import noise_level
from fsir.net.broker import Broker
from fsir.task.task import Task
from tests.aggregator.batches import deliver, started
from tests.aggregator.federations import make_task, screening_task

BROKER = Broker.parse("mqtt://127.0.0.1:1")
CUTS = make_task(name="number", response={"cuts": [-1.0, 0.0, 1.0]})
TASKS = [
    make_task(),
    make_task(p=50, classes=12, name="many"),
    make_task(classes=2, name="two"),
    CUTS,
    screening_task(),
    make_task(name="rounds", report={"records": 200, "rounds": 3}),
]


class Elements(HTMLParser):
    """Collects elements, and sees that each is closed by its own end."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in ("meta", "link"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


def states(path: Path, task: Task) -> list[dict[str, Any]]:
    """Overviews from the first moment on."""
    made = started(path, task, debounce=0.0)
    daemon = Daemon(made, BROKER)
    seen = [daemon.overview()]
    for k, count in enumerate((1, 3, 9)):
        deliver(made, task, range(count), float(k + 1))
        made.jobs(float(k + 1))
        made.estimate(float(k + 1))
        seen.append(daemon.overview())
    made.withdraw("d0", 9.0)
    with made.store.transaction():
        made.store.enrol(task.name, [f"d{k}" for k in range(30)], 9.0)
    made.estimate(10.0)
    seen.append(daemon.overview())
    made.store.close()
    return seen


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_every_figure_is_that_of_the_overview(tmp_path: Path, task: Task) -> None:
    shown = set()
    for overview in states(tmp_path / "s.db", task):
        parts = document.parts(overview) | document.alarm("")
        page = Elements(document.page(parts, "shape"))
        for figure in page.all("data"):
            path = str(figure["data-of"])
            value: Any = overview["tasks"][0]
            for step in path.split("."):
                value = value[int(step)] if isinstance(value, list) else value[step]
            assert json.loads(str(figure["value"])) == value, path
            shown.add(path)
    least = {"progress.counted", "devices.reported", "devices.withdrawn", "devices.roster"}
    if task.screening is None:
        least |= {"subspace.expected_error", "forecast.expected_error", "history.0.version"}
        least |= {"subspace.singular_values.0", "directions.loadings.0.0", "subspace.noise_level"}
    assert least <= shown


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_pictures_have_names_and_finite_places_and_ids_are_unique(
    tmp_path: Path, task: Task
) -> None:
    for overview in states(tmp_path / "s.db", task):
        text = document.page(document.parts(overview) | document.alarm(""), "shape")
        page = Elements(text)
        ids = [a["id"] for _, a in page.found if "id" in a]
        assert len(ids) == len(set(ids))
        for picture in page.all("svg"):
            assert picture["role"] == "img"
            assert picture["aria-label"]
        assert not re.search(r'="[^"]*\b(nan|inf)\b', text)
        tables = len(page.all("table"))
        assert len(page.all("caption")) == tables
        for button in page.all("button"):
            assert button["aria-describedby"] in ids
        assert [a for _, a in page.found if "aria-live" in a] == [
            {"id": "task0-headline", "data-live": None, "aria-live": "polite"}
        ]
        assert not any(
            "style" in a or any(key.startswith("on") for key in a) for _, a in page.found
        )


def test_all_terms_are_used(tmp_path: Path) -> None:
    text = ""
    for k, task in enumerate(TASKS):
        for overview in states(tmp_path / f"{k}.db", task):
            overview["tasks"][0]["refused"] = {"malformed": 3}
            overview["tasks"][0]["progress"] |= {"per_hour": 12.0, "per_hour_over": "the last hour"}
            text += document.page(document.parts(overview), "shape")
    unused = [word for word in TERMS if f'-{word.replace(" ", "-")}"' not in text]
    assert unused == []


def test_several_tasks_stand_on_one_page(tmp_path: Path) -> None:
    made = started(tmp_path / "s.db", *TASKS)
    daemon = Daemon(made, BROKER)
    page = Elements(document.page(document.parts(daemon.overview()), "shape"))
    assert len(page.all("article")) == len(TASKS)
    links = [link["href"] for link in page.all("a")]
    assert links[: len(TASKS)] == [f"#task{k}" for k in range(len(TASKS))]
    made.store.close()


def test_the_way_to_a_task_has_its_name_also_after_another_has_come(tmp_path: Path) -> None:
    made = started(tmp_path / "s.db", *TASKS)
    parts = document.parts(Daemon(made, BROKER).overview())
    for k, task in enumerate(TASKS):
        assert f'<a href="#task{k}"><bdi>{task.name}</bdi></a>' in parts["contents"]
    made.store.close()
    alone = started(tmp_path / "t.db", TASKS[0])
    assert "contents" not in document.parts(Daemon(alone, BROKER).overview())
    alone.store.close()


def test_classes_are_said_to_come_or_not_to_be(tmp_path: Path) -> None:
    (first, *_, last) = states(tmp_path / "s.db", CUTS)
    assert "Nothing was learned yet." in document.parts(first)["task0-classes"]
    assert "This task has no classes to draw." in document.parts(last)["task0-classes"]
    (first, *_, last) = states(tmp_path / "t.db", TASKS[0])
    assert "Nothing was learned yet." in document.parts(first)["task0-classes"]
    assert "Direction 1 goes to the right, direction 2 up." in document.parts(last)["task0-classes"]


def test_the_noise_is_explained_as_the_quantile_that_it_is() -> None:
    rng = np.random.default_rng(1)
    N = 100
    drawn = np.linalg.svd(rng.normal(size=(2000, 12, 3)) / N**0.5, compute_uv=False)[:, 0]
    assert np.mean(drawn < noise_level(12, 3, N)) == pytest.approx(19 / 20, abs=0.02)
    assert "19 cases of 20" in TERMS["noise"]


def test_trouble_at_the_first_look_is_a_page_too(tmp_path: Path) -> None:
    page = document.page(document.alarm("<the disk is gone>"), "shape")
    assert "&lt;the disk is gone&gt;" in page
    assert Elements(page).all("article") == []


def test_names_are_listed_page_by_page(tmp_path: Path) -> None:
    task = make_task(p=3, records=60)
    made: Aggregator = started(tmp_path / "s.db", task)
    with made.store.transaction():
        made.store.enrol(task.name, [f"pi-{k:04d}" for k in range(1500)], 1.0)
    daemon = Daemon(made, BROKER)
    live = LivePage(daemon.overview, daemon.names)
    ask = live.pages()["/devices"]

    def listed(**query: str) -> tuple[int, str]:
        status, _, body = ask(Request(query, ""))
        return status, body.decode()

    status, text = listed(task="test", state="silent")
    names = re.findall(r"pi-\d{4}", text)
    assert status == 200
    assert len(Elements(text).all("bdi")) == 1001  # and the name of the task
    assert names[-1] == "pi-0999"  # in the link to the next page
    status, text = listed(task="test", state="silent", after="pi-0999")
    assert re.findall(r"pi-\d{4}", text)[0] == "pi-1000"
    assert "More names" not in text
    assert listed(task="test", state="withdrawn")[0] == 200
    assert listed(task="other", state="silent")[0] == 404
    assert listed(task="test", state="expected")[0] == 404
    assert listed()[0] == 404
    made.store.close()
