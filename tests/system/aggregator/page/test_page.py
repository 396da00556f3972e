"""The live page in a real browser, beside a real aggregator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sim_devices.network.broker import LocalBroker
from tests.aggregator.federations import make_task, report
from tests.system.aggregator.daemons import Devices, wait_for
from tests.system.aggregator.page.served import (
    agree,
    assert_clean,
    figures,
    served,
    watched_task,
)

pytestmark = [pytest.mark.broker, pytest.mark.long]
TASK = watched_task()
PATIENCE_MILLISECONDS = 60_000


def sent(count: range) -> dict[str, bytes]:
    return {f"pi-{k:02d}": report(TASK, f"pi-{k:02d}", k) for k in count}


def wait_for_text(one: Any, text: str) -> None:
    one.page.get_by_text(text).first.wait_for(timeout=PATIENCE_MILLISECONDS)


def counts(one: Any, number: int) -> None:
    """Wait until the page says so."""
    strong = one.page.locator("#task0-headline strong data").first
    strong.and_(one.page.locator(f'[value="{number}"]')).wait_for(timeout=PATIENCE_MILLISECONDS)


def test_thirty_devices_report_while_the_page_is_open(
    mosquitto_url: str, tmp_path: Path, tab: Any
) -> None:
    devices = Devices(mosquitto_url, TASK)
    with served(tmp_path, mosquitto_url, TASK, more=("--expect", "40")) as made:
        wait_for(lambda: "task" in devices.retained, "the aggregator")
        one = tab(made.page)
        wait_for_text(one, "There is no estimate yet.")
        one.page.evaluate("window.before = 'the same document'")
        devices.send(sent(range(3)))
        counts(one, 3)
        wait_for_text(one, "Direction 1")
        curve = one.page.locator("#task0-growth polyline.curve").first
        first = curve.get_attribute("points")
        loadings = one.page.locator("#task0-directions").inner_html()
        for k in range(3, 30):
            devices.send(sent(range(k, k + 1)))
        counts(one, 30)
        versions = one.page.locator("#task0-versions tbody tr")
        wait_for(lambda: versions.count() > 1, "another version")
        assert curve.get_attribute("points") != first
        assert one.page.locator("#task0-directions").inner_html() != loadings
        assert one.page.get_by_role("progressbar").get_attribute("max") == "40"
        assert one.page.evaluate("window.before") == "the same document"
        wait_for(lambda: agree(figures(one), made.status()[0]), "the same figures as `status`")
        shown = figures(one)
        assert shown["progress.counted"] == 30
        assert shown["progress.expected"] == 40
        assert len(shown) > 30
        assert_clean(one, made.page)
    devices.close()


def test_the_page_says_that_the_broker_is_gone_and_comes_back(tmp_path: Path, tab: Any) -> None:
    with LocalBroker() as broker:
        url = broker.start("mosquitto")
        with served(tmp_path, url, TASK) as made:
            one = tab(made.page)
            wait_for_text(one, ": connected since")
            broker.kill()
            wait_for_text(one, ": no connection since")
            assert one.page.locator("#health .bad").count() == 1
            broker.restart()
            wait_for_text(one, ": connected since")
            assert one.page.locator("#health .bad").count() == 0
            devices = Devices(url, TASK)
            devices.send(sent(range(2)))
            counts(one, 2)
            devices.close()
            assert_clean(one, made.page)


def test_a_page_that_was_left_alone_says_so_and_recovers(
    mosquitto_url: str, tmp_path: Path, tab: Any
) -> None:
    with served(tmp_path, mosquitto_url, TASK) as made:
        one = tab(made.page)
        wait_for_text(one, ": connected since")
        assert not one.page.get_by_role("alert").is_visible()
        made.stop()
        one.page.get_by_text("No word from the aggregator").wait_for(timeout=PATIENCE_MILLISECONDS)
        assert one.page.get_by_role("alert").is_visible()
        made.start()
        one.page.get_by_role("alert").wait_for(state="hidden", timeout=PATIENCE_MILLISECONDS)
        devices = Devices(mosquitto_url, TASK)
        devices.send(sent(range(1)))
        counts(one, 1)
        devices.close()
        # What a browser itself complains about when nobody is there, and nothing of ours.
        assert all("net::ERR" in error for error in one.errors), one.errors


def test_a_page_of_an_aggregator_that_comes_back_with_fewer_tasks_forgets_the_others(
    mosquitto_url: str, tmp_path: Path, tab: Any
) -> None:
    with served(tmp_path, mosquitto_url, TASK, make_task(name="other")) as made:
        one = tab(made.page)
        one.page.locator("#task1").wait_for(timeout=PATIENCE_MILLISECONDS)
    with served(tmp_path, mosquitto_url, TASK, port=made.port):
        gone = one.page.locator("#task1")
        gone.wait_for(state="detached", timeout=PATIENCE_MILLISECONDS)
        wait_for_text(one, ": connected since")
        assert one.page.locator("nav").count() == 0


def test_who_does_not_look_needs_no_stream(mosquitto_url: str, tmp_path: Path, tab: Any) -> None:
    hide = "Object.defineProperty(document, 'hidden', {value: %s, configurable: true});"
    changed = "document.dispatchEvent(new Event('visibilitychange'))"
    devices = Devices(mosquitto_url, TASK)
    with served(tmp_path, mosquitto_url, TASK) as made:
        one = tab(made.page)
        wait_for_text(one, ": connected since")
        one.page.evaluate(hide % "true" + changed)
        assert one.page.evaluate("stream.readyState") == 2  # closed
        devices.send(sent(range(2)))
        other = tab(made.page)
        counts(other, 2)
        assert figures(one)["progress.counted"] == 0
        one.page.evaluate(hide % "false" + changed)
        counts(one, 2)
        assert_clean(one, made.page)
    devices.close()


def test_by_keyboard_terms_explain_themselves_and_keep_the_focus(
    mosquitto_url: str, tmp_path: Path, tab: Any
) -> None:
    devices = Devices(mosquitto_url, TASK)
    with served(tmp_path, mosquitto_url, TASK) as made:
        one = tab(made.page, width=390)
        wait_for_text(one, ": connected since")
        devices.send(sent(range(2)))
        counts(one, 2)
        focused = "document.activeElement.id"
        seen = []
        for _ in range(200):
            one.page.keyboard.press("Tab")
            seen.append(one.page.evaluate(focused))
            if seen[-1] == "task0-growth-expected-error":
                break
        assert seen[0] == "health-broker"
        assert seen[-1] == "task0-growth-expected-error"
        tip = one.page.locator("#task0-growth-expected-error-is")
        assert tip.is_visible()
        outline = one.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline == "solid"
        devices.send(sent(range(2, 5)))
        counts(one, 5)
        assert one.page.evaluate(focused) == "task0-growth-expected-error"  # though exchanged
        one.page.keyboard.press("Escape")
        assert not tip.is_visible()
        ids = one.page.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
        assert len(ids) == len(set(ids))
        assert one.too_wide() <= 0
        assert_clean(one, made.page)
    devices.close()


def test_a_token_opens_the_page_once_and_for_all(
    mosquitto_url: str, tmp_path: Path, tab: Any
) -> None:
    file = tmp_path / "token"
    more = ("--http-token-file", str(file))
    with served(tmp_path, mosquitto_url, TASK, more=more) as made:
        one = tab(made.page)
        wait_for_text(one, "show the token")
        assert one.page.locator("article").count() == 0
        one.page.goto(f"{made.page}?token={file.read_text().strip()}")
        wait_for_text(one, ": connected since")
        assert one.page.url == made.page  # the token does not stay in the address
        one.page.goto(made.page)
        wait_for_text(one, ": connected since")
        (cookie,) = one.page.context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        assert cookie["value"] != file.read_text().strip()
    assert file.stat().st_mode & 0o077 == 0
