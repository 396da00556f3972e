"""What open pages are told: once for all of them, only what changes, only while somebody looks."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from aggregator.page import feed
from aggregator.page.feed import Feed
from fsir.errors import FsirError


class Watched:
    """A feed over a number that the test changes, and how often it was looked up."""

    def __init__(self) -> None:
        self.number = 0
        self.other = "same"
        self.error: Exception | None = None
        self.times: list[float] = []
        self.feed = Feed(self.look, self.render, lambda text: {"alarm": text}, "shape")

    def look(self) -> dict[str, Any]:
        self.times.append(time.monotonic())
        if self.error is not None:
            raise self.error
        return {"number": self.number, "other": self.other}

    def render(self, found: Any) -> dict[str, str]:
        return {"number": str(found["number"]), "other": found["other"]}


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(feed, "PAUSE_SECONDS", 0.05)
    monkeypatch.setattr(feed, "BEAT_SECONDS", 0.3)
    made = Watched()
    yield made
    made.feed.close()


def news(stream: Any) -> dict[str, Any] | None:
    """The next message."""
    return json.loads(next(stream).removeprefix(b"data: "))


def parts(stream: Any) -> dict[str, str]:
    """The next parts, whatever signs of life come before."""
    while (found := news(stream)) is None:
        pass
    return dict(found["parts"])


def test_first_all_parts_come_and_then_those_that_have_changed(watched: Watched) -> None:
    stream = watched.feed.events()
    assert next(stream).startswith(b"retry: ")
    first = news(stream)
    assert first == {"shape": "shape", "parts": {"number": "0", "other": "same", "alarm": ""}}
    watched.number = 1
    assert parts(stream) == {"number": "1"}
    assert news(stream) is None  # nothing changes: a sign of life and no more
    stream.close()


def test_one_look_serves_all_and_nobody_looks_for_nobody(watched: Watched) -> None:
    streams = [watched.feed.events() for _ in range(10)]
    for stream in streams:
        next(stream)
        assert parts(stream)["number"] == "0"
    watched.number = 7
    assert [parts(stream) for stream in streams] == [{"number": "7"}] * 10
    gaps = [b - a for a, b in zip(watched.times, watched.times[1:], strict=False)]
    assert gaps
    assert min(gaps) >= 0.05  # at most once in a pause, whoever asks
    assert watched.feed.watchers == 10
    for stream in streams:
        stream.close()
    assert watched.feed.watchers == 0
    threads_end("page")
    count = len(watched.times)
    time.sleep(0.3)
    assert len(watched.times) == count
    again = watched.feed.events()  # who comes later gets what is new by then
    watched.number = 8
    next(again)
    assert parts(again)["number"] == "8"
    watched.number = 9
    assert parts(again)["number"] == "9"
    again.close()


def threads_end(name: str) -> None:
    for thread in threading.enumerate():
        if thread.name == name:
            thread.join(10)
            assert not thread.is_alive()


@pytest.mark.parametrize(
    ("error", "said"),
    [(FsirError("the disk is gone"), "the disk is gone"), (ZeroDivisionError(), "the log")],
)
def test_trouble_is_told_and_what_was_known_stays(
    watched: Watched, error: Exception, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    stream = watched.feed.events()
    next(stream)
    parts(stream)
    watched.error = error
    told = parts(stream)
    assert set(told) == {"alarm"}
    assert said in told["alarm"]
    assert watched.feed.parts()["number"] == "0"
    watched.error = None
    assert parts(stream) == {"alarm": ""}
    stream.close()


def slow(watched: Watched, cost: Callable[[], None]) -> None:
    """Let each look cost something."""
    render = watched.render

    def costly(found: Any) -> dict[str, str]:
        cost()
        return render(found)

    watched.feed = Feed(watched.look, costly, lambda text: {})


def test_a_look_that_computes_long_is_made_seldom(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "PAUSE_FACTOR", 4.0)
    slow(watched, lambda: compute(0.05))
    stream = watched.feed.events()
    next(stream)
    parts(stream)
    watched.number = 1
    parts(stream)
    stream.close()
    assert watched.times[1] - watched.times[0] >= 4 * 0.05


def compute(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


@pytest.mark.parametrize("cost", [time.sleep, compute])
def test_a_look_that_took_long_once_does_not_stop_the_page(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, cost: Any
) -> None:
    """Neither on a busy machine, where it waits, nor if it has much to do."""
    monkeypatch.setattr(feed, "PAUSE_FACTOR", 1e4)
    monkeypatch.setattr(feed, "LONGEST_PAUSE_SECONDS", 0.5)
    slow(watched, lambda: cost(0.2))
    stream = watched.feed.events()
    next(stream)
    parts(stream)
    watched.number = 1
    heard = (news(stream) for _ in range(100))  # every 0.3 s at least a sign of life
    assert next(found for found in heard if found) == {"shape": "", "parts": {"number": "1"}}
    stream.close()


def test_closing_ends_all_streams(watched: Watched) -> None:
    stream = watched.feed.events()
    next(stream)
    parts(stream)
    threading.Timer(0.1, watched.feed.close).start()
    assert [piece for piece in stream if b"null" not in piece] == []
