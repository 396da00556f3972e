"""The page as a browser gets it: complete in itself, in the order in which a person asks."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from sim_devices.results import page, scatter
from sim_devices.results.bars import Bar
from sim_devices.results.picture import Panel
from sim_devices.results.story import Section

CLASSES = ("WALKING", "SITTING")
QUESTIONS = ["What came out", "How sure is that?", "What did it cost?"]


def panel(title, directions=2, marked=False):
    rng = np.random.default_rng(0)
    response = np.array(CLASSES)[np.arange(60) % 2]
    wrong = np.arange(60) % 10 == 0
    Z = rng.normal(size=(60, directions))
    return Panel(title, Z, response, CLASSES, marked=marked, wrong=wrong)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "deep" / "page.html"
    page.write(
        path,
        page.Page(
            title="people <& others>",
            verdict="The federation adds 6.9 points to what is public (80.6% -> 87.5%).",
            panels=[panel("the volunteer alone"), panel("the federation", marked=True)],
            response="activity",
            sections=[Section(question, {"name": "value"}) for question in QUESTIONS],
            bars=[
                Bar("the volunteer alone", 0.806, "public"),
                Bar("this federation", 0.875, "federation"),
            ],
            notes=["invented people"],
        ),
    )
    return path.read_text(encoding="utf-8")


def test_without_curves_the_page_is_as_it_was(text):
    assert "table" not in text
    assert "curve" not in text


class Reader(HTMLParser):
    """Every tag is closed, in order."""

    EMPTY = ("meta", "path", "circle")

    def __init__(self):
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_it_is_well_formed_and_needs_nothing_else(text):
    reader = Reader()
    reader.feed(text)
    assert not reader.open
    assert not {"script", "link", "img", "iframe", "object"} & set(reader.tags)
    assert "http" not in text
    assert "url(" not in text
    assert "people &lt;&amp; others&gt;" in text


def test_it_tells_the_story_in_the_order_of_the_questions(text):
    parts = [
        'class="verdict"',
        "<svg",
        *QUESTIONS,
        "What is it compared with?",
        "Read this too",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert "(80.6% → 87.5%)" in text


def test_it_fits_a_phone_by_day_and_by_night(text):
    assert '<meta name="viewport" content="width=device-width,initial-scale=1">' in text
    assert "prefers-color-scheme:dark" in text
    for tag in re.findall(r"<svg[^>]*>", text):
        assert "viewBox=" in tag
        assert "width=" not in tag


def test_the_federation_is_marked_in_picture_and_chart(text):
    assert text.count('<figure class="mine">') == 1
    assert '<li class="federation">' in text
    assert "width:87.5%" in text


def test_mistakes_are_crossed_out(text):
    assert "× named wrongly" in text
    crosses = re.findall(r'<path class="wrong" d="([^"]*)"', scatter.svg(panel("one"), "activity"))
    assert sum(path.count("M") for path in crosses) == 6


def test_axes_have_names_and_round_numbers():
    drawn = scatter.svg(panel("two directions"), "activity")
    assert "first direction" in drawn
    assert "second direction" in drawn
    assert re.search(r">-?\d(\.\d)?</text>", drawn)
    one = scatter.svg(panel("one direction", directions=1), "activity")
    assert ">class</text>" in one
    number = Panel("a number", np.arange(20.0)[:, None], np.arange(20.0))
    assert ">delay</text>" in scatter.svg(number, "delay")


@pytest.mark.parametrize(("low", "high"), [(-3.2, 4.1), (0.0, 1.0), (1e-4, 3e-4), (-5e6, 2e7)])
def test_ticks_are_few_even_and_inside(low, high):
    ticks = scatter.ticks(low, high)
    assert 2 <= len(ticks) <= 6
    assert low <= ticks[0]
    assert ticks[-1] <= high
    assert np.ptp(np.diff(ticks)) < 1e-9 * (high - low)


def test_values_that_are_all_the_same_are_drawn_too():
    still = Panel("still", np.zeros((4, 2)), np.array(CLASSES * 2), CLASSES)
    assert "<circle" in scatter.svg(still, "activity")
    assert "nan" not in scatter.svg(still, "activity")
