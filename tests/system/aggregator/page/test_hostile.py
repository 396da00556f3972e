"""What strangers have chosen shows as text, on pages of every width and in both colours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from aggregator.core import Aggregator
from aggregator.store.rows import RefusedRow
from aggregator.store.sqlite import SqliteStore
from tests.aggregator.batches import deliver
from tests.aggregator.federations import topic
from tests.system.aggregator.page.axe import serious
from tests.system.aggregator.page.served import agree, assert_clean, figures, served, watched_task

pytestmark = [pytest.mark.broker, pytest.mark.long]
TEXTS = (
    "<script>window.broken = 1</script>",
    "<img src=x onerror='window.broken = 2'>",
    "</div></section><h1>mine</h1>",
    '"\' onmouseover="window.broken = 3',
    "<svg/onload=window.broken=4>",
    "&lt;b&gt;&#60;script&#62;",
    "\u202eevil\u2066 \u2069\u200f",
    "{{7*7}}${window.broken = 5}",
    "\x1b[2J\x00\r\n\ndata: {}\n\n",
    "a" * 65536,
)
CLASSES = ("<img src=x onerror='window.broken = 6'>", "b" * 200, "sitting")


def fill(path: Path, task: Any) -> None:
    """A store as hostile as it gets: such names never come from our own code."""
    aggregator = Aggregator(SqliteStore(path), [task], debounce=0.0)
    aggregator.start(1.0)
    deliver(aggregator, task, range(5), 2.0)
    aggregator.take(topic(task, "d9"), b"garbage")
    aggregator.commit(2.5)
    aggregator.estimate(3.0)
    store = aggregator.store
    with store.transaction():
        store.enrol(task.name, TEXTS, 4.0)
        store.refuse(
            [
                RefusedRow(
                    task=task.name,
                    device=text,
                    stage=text,
                    id=b"",
                    reason=text,
                    detail=text,
                    length=1,
                    raw=b"",
                    at=5.0,
                )
                for text in TEXTS
            ]
        )
    store.close()


@pytest.fixture(params=["light", "dark"])
def hostile(request: Any, mosquitto_url: str, tmp_path: Path) -> Any:
    features = [*TEXTS[:5], "c" * 200, "x"]
    task = watched_task(
        features={"names": features},
        response={"classes": list(CLASSES)},
        clip={"truncate": 3.0, "norm": 3.0},
    )
    fill(tmp_path / "s.db", task)
    with served(tmp_path, mosquitto_url, task) as made:
        yield made, request.param == "dark"


def test_hostile_words_are_words(hostile: Any, tab: Any) -> None:
    made, dark = hostile
    one = tab(made.page, width=390, dark=dark)
    one.page.get_by_text(": connected since").first.wait_for()
    for width in (320, 390, 800, 1200):
        one.page.set_viewport_size({"width": width, "height": 800})
        assert one.too_wide() <= 0, width
    assert one.page.evaluate("window.broken") is None
    assert one.page.locator("img, article script, article h1").count() == 0
    names = one.page.locator("#task0-devices-silent li").all_inner_texts()
    assert len(names) == len(TEXTS)
    assert set(TEXTS[:6]) <= set(names)
    assert "?evil? ??" in names  # what would turn the writing around is not printed
    assert max(map(len, names)) < 100
    assert CLASSES[0] in one.page.locator("#task0-classes").inner_text()
    assert TEXTS[0] in one.page.locator("#task0-directions").inner_text()
    refused = one.page.locator("#task0-refusals .refusals li")
    assert refused.count() == len(TEXTS)
    assert agree(figures(one), made.status()[0])
    assert figures(one)["refused.malformed"] == 1
    assert serious(one) == []
    one.page.get_by_role("link", name="names of 10 silent devices").click()
    one.page.get_by_role("heading", name="Silent devices of activity").wait_for()
    assert TEXTS[0] in one.page.locator(".names").inner_text()
    assert one.too_wide() <= 0
    assert serious(one) == []
    assert_clean(one, made.page)


def test_axe_finds_what_there_is_to_find(tab: Any) -> None:
    one = tab("data:text/html,<html lang=en><title>t</title><img src=''>")
    assert [fault.split(":")[0] for fault in serious(one)] == ["image-alt"]
