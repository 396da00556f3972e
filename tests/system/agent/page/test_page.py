"""The owner's page in a real browser, beside a real agent."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from fsir.task.task import Task
from tests.edge_agent.processes import command, end, learned_by_class, running, wait_for_line
from tests.system.agent.page.watched import KnowingAggregator, page, records, watched_task

pytestmark = [pytest.mark.broker, pytest.mark.long]
HOSTILE = "<img src=x onerror=alert(1)>\"'&amp;{{7*7}}" + "x" * 150


class Watched:
    """An agent that reads records from a pipe, and the address of its page."""

    def __init__(self, folder: Path, of: Task, process: subprocess.Popen[str], url: str) -> None:
        self.folder = folder
        self.of = of
        self.url = url
        self._process = process

    def feed(self, n: int, labelled: bool = False) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("".join(records(self.of, n, labelled=labelled)))
        self._process.stdin.flush()

    def learns(self, **counts: int) -> None:
        """Wait until so many records of these classes are learned."""
        expected = {name.replace("_", " "): count for name, count in counts.items()}
        wait_until(lambda: learned_by_class(self.folder, self.of) == expected)

    def stop(self) -> None:
        end(self._process)


def wait_until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened in time"
        time.sleep(0.05)


@pytest.fixture
def watch(mosquitto_url, tmp_path) -> Iterator[Callable[..., Watched]]:
    with ExitStack() as leaving:

        def start(of: Task, *more: str) -> Watched:
            leaving.enter_context(KnowingAggregator(mosquitto_url, of))
            words = ("--labels", "press", "--label-delay", "1", *more)
            process = leaving.enter_context(
                running(command(mosquitto_url, "jsonl:-", tmp_path, *words, name=of.name))
            )
            wait_for_line(process, "accepted, digest")
            url = leaving.enter_context(page(tmp_path / "state"))
            return Watched(tmp_path, of, process, url)

        yield start


def test_a_press_by_mouse_and_by_keyboard_reaches_the_learner(watch, tab):
    watched = watch(watched_task())
    one = tab(watched.url, width=390)
    one.page.get_by_role("button", name="sitting").click()
    one.page.get_by_text("sitting since").wait_for()
    assert one.page.get_by_role("button", name="sitting", pressed=True).is_visible()
    watched.feed(10)
    watched.learns(sitting=10)
    # From the button that was pressed to the next one, which shows that it has the focus.
    assert focused(one) == "sitting"
    one.page.keyboard.press("Tab")
    assert focused(one) == "lying down"
    outline = one.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    one.page.keyboard.press("Space")
    one.page.get_by_text("lying down since").wait_for()
    watched.feed(7)
    watched.learns(sitting=10, lying_down=7)
    assert focused(one) == "lying down"  # although the buttons were exchanged
    one.page.keyboard.press("Tab")
    one.page.keyboard.press("Enter")  # on "Not known any more"
    one.page.get_by_text("Press what you are doing").wait_for()
    watched.feed(5)
    one.page.get_by_text("5 records not accepted: no label").wait_for(timeout=60_000)
    watched.learns(sitting=10, lying_down=7)
    assert_clean(one, watched.url)


def focused(one) -> str:
    return str(one.page.evaluate("document.activeElement.textContent"))


def assert_clean(one, url: str) -> None:
    """No error, and no request to anybody else."""
    assert one.errors == []
    origin = urlsplit(url)[:2]
    assert {urlsplit(asked)[:2] for asked in one.requests} == {origin}


def test_the_live_view_shows_what_the_agent_serves(watch, tab):
    watched = watch(watched_task())
    one = tab(watched.url)
    one.page.get_by_text("What a record means can be told once").wait_for()
    watched.feed(120, labelled=True)
    one.page.get_by_text("its report is counted").wait_for(timeout=60_000)
    watched.feed(40)  # twenty times walking, then sitting
    answer = one.page.locator("strong.answer")
    answer.get_by_text("sitting").wait_for(timeout=60_000)
    picture = one.page.get_by_role("img", name="The last 60 records as points; the newest is")
    picture.wait_for()
    assert picture.locator("circle").count() == 60  # and those behind the report
    assert one.page.get_by_text("sure, says the federation's classifier").is_visible()
    bar = one.page.get_by_role("img", name="Epsilon 0.8 of 2 is spent, in 1 reports; 1.2 is left.")
    assert bar.is_visible()
    watched.stop()
    one.page.get_by_text("No live view: the agent does not run.").wait_for(timeout=60_000)
    assert_clean(one, watched.url)


@pytest.mark.parametrize("dark", [False, True])
def test_on_a_phone_nothing_is_too_wide_and_hostile_words_are_words(watch, tab, dark):
    watched = watch(watched_task((HOSTILE, "b" * 200, "sitting")))
    watched.feed(120, labelled=True)
    one = tab(watched.url, width=390, dark=dark)
    one.page.get_by_text("its report is counted").wait_for(timeout=60_000)
    watched.feed(15)
    one.page.locator("strong.answer").get_by_text(HOSTILE, exact=True).wait_for(timeout=60_000)
    one.page.get_by_role("button", name=HOSTILE, exact=True).click()
    one.page.get_by_text("since").wait_for()
    one.page.get_by_text("All that this task asks for").click()
    for width in (390, 320, 1200):
        one.page.set_viewport_size({"width": width, "height": 800})
        assert one.too_wide() <= 0
    assert one.page.locator("img, b[onclick]").count() == 0
    assert_clean(one, watched.url)


def test_it_asks_once_a_second_and_only_while_somebody_looks(watch, tab):
    watched = watch(watched_task())
    one = tab("about:blank")
    one.page.clock.install(time=0)
    one.page.clock.pause_at(1000)  # from here on the test turns it
    one.page.goto(watched.url)

    def asked() -> int:
        one.page.wait_for_timeout(50)  # in which the browser does what it has to
        return one.requests.count(watched.url)

    def milliseconds_until_the_next() -> int:
        """By the clock of the page."""
        before = asked()
        for step in range(1, 1000):
            one.page.clock.run_for(100)
            if asked() > before:
                return 100 * step
        raise AssertionError("it does not ask any more")

    assert asked() == 1
    for _ in range(3):
        assert milliseconds_until_the_next() >= 1000
    hide = "Object.defineProperty(document, 'hidden', {value: %s, configurable: true});"
    changed = "document.dispatchEvent(new Event('visibilitychange'))"
    one.page.evaluate(hide % "true" + changed)
    one.page.clock.run_for(100_000)
    assert asked() == 4
    one.page.evaluate(hide % "false" + changed)
    wait_until(lambda: asked() == 5)  # at once
    assert milliseconds_until_the_next() >= 1000
    assert_clean(one, watched.url)


def test_what_is_unfolded_and_selected_stays_while_records_come_in(watch, tab):
    watched = watch(watched_task())
    one = tab(watched.url)
    one.page.get_by_text("All that this task asks for").click()
    one.page.get_by_text("What would leave the device").wait_for()
    watched.feed(30)
    one.page.get_by_text("30 of 100 records").wait_for(timeout=60_000)
    assert one.page.get_by_text("What would leave the device").is_visible()


def test_a_page_whose_device_is_gone_says_so(mosquitto_url, tmp_path, tab):
    of = watched_task()
    with KnowingAggregator(mosquitto_url, of), ExitStack() as leaving:
        arguments = command(mosquitto_url, "jsonl:-", tmp_path, name=of.name)
        wait_for_line(leaving.enter_context(running(arguments)), "accepted, digest")
        with page(tmp_path / "state") as url:
            one = tab(url)
            assert not one.page.get_by_role("alert").is_visible()
        one.page.get_by_text("The device does not answer.").wait_for()
        one.page.get_by_role("button", name="walking").click()
        one.page.get_by_text("Your press was not taken.").wait_for()


def test_parts_have_names_for_who_cannot_see_them(watch, tab):
    watched = watch(watched_task())
    one = tab(watched.url)
    for heading in ("Right now", "What are you doing?", "What is given away", "The budget"):
        assert one.page.get_by_role("region", name=heading).is_visible()
    assert one.page.get_by_role("heading", level=1).inner_text() == "dev-1"
    assert one.page.get_by_role("progressbar", name="0 of 100 records").count() == 1
    assert one.page.get_by_role("img", name="Epsilon 0 of 2 is spent").is_visible()
    assert one.page.evaluate("document.documentElement.lang") == "en"


def test_it_works_without_its_script(watch, chromium):
    watched = watch(watched_task())
    context = chromium.new_context(java_script_enabled=False)
    try:
        plain = context.new_page()
        plain.goto(watched.url)
        plain.get_by_role("button", name="walking").click()
        plain.get_by_text("walking since").wait_for()
        watched.feed(4)
        watched.learns(walking=4)
    finally:
        context.close()
