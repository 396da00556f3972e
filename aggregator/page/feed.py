"""What all open pages show: looked up once for all of them, and only while somebody watches."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Generator, Mapping
from threading import Condition, Lock, Thread
from typing import Any

from fsir.errors import FsirError

log = logging.getLogger("fsir.page")
PAUSE_SECONDS = 1.0  # between two looks at the store, at least ...
PAUSE_FACTOR = 30.0  # ... and so many times what a look computes: intake comes first
LONGEST_PAUSE_SECONDS = 20.0  # whatever a look has cost: a page that stands still is no use
BEAT_SECONDS = 5.0  # a page that hears nothing for longer knows that it was left alone
RETRY_MILLISECONDS = 1000
_UNFORESEEN = "the page failed; the log of the aggregator says how"

Look = Callable[[], dict[str, Any]]
Parts = dict[str, str]  # HTML of every part of the page, by its id
Render = Callable[[Mapping[str, Any]], Parts]
Alarm = Callable[[str], Parts]  # the part that says what is wrong; nothing is if the text is empty


class Feed:
    """The newest parts of the page; `watch` tells one browser what changes in them."""

    def __init__(self, look: Look, render: Render, alarm: Alarm, shape: str = "") -> None:
        self._look = look
        self._render = render
        self._alarm = alarm
        self._shape = shape  # another one, and the browser must load the page anew
        self._looking = Lock()  # held by the one who looks
        self._due = 0.0  # when the next look may be
        self._changed = Condition()
        self._parts: Parts = {}
        self.watchers = 0  # browsers that wait
        self._thread: Thread | None = None
        self._closing = False

    def parts(self) -> Parts:
        """As they are now, or were a moment ago."""
        with self._looking:
            if not self._parts or time.monotonic() >= self._due:
                start = time.thread_time()  # what it waits for the disk or others costs nobody
                parts = self._try()
                pause = max(PAUSE_SECONDS, PAUSE_FACTOR * (time.thread_time() - start))
                self._due = time.monotonic() + min(pause, LONGEST_PAUSE_SECONDS)
                with self._changed:
                    if parts != self._parts:
                        self._parts = parts
                        self._changed.notify_all()
            return self._parts

    def _try(self) -> Parts:
        """Look; if that fails, what was found last stays, under the reason."""
        try:
            return self._render(self._look()) | self._alarm("")
        except FsirError as error:
            return self._parts | self._alarm(str(error))
        except Exception:  # a look that fails must end neither the page nor the daemon
            log.exception("unexpected; the page shows what it showed")
            return self._parts | self._alarm(_UNFORESEEN)

    def events(self) -> Generator[bytes]:
        """For one browser, until it leaves: all parts, then those that have changed."""
        self._come()
        try:
            yield f"retry: {RETRY_MILLISECONDS}\n\n".encode()
            seen: Parts = {}
            while not self._closing:
                parts = self._wait(seen)
                fresh = {name: html for name, html in parts.items() if seen.get(name) != html}
                seen = parts
                yield _event({"shape": self._shape, "parts": fresh}) if fresh else _event(None)
        finally:
            self._leave()

    def _wait(self, seen: Parts) -> Parts:
        with self._changed:
            self._changed.wait_for(lambda: self._closing or self._parts is not seen, BEAT_SECONDS)
            return self._parts

    def _come(self) -> None:
        self.parts()
        with self._changed:
            self.watchers += 1
            if self._thread is None:
                self._thread = Thread(target=self._run, name="page", daemon=True)
                self._thread.start()

    def _leave(self) -> None:
        with self._changed:
            self.watchers -= 1
            self._changed.notify_all()

    def _run(self) -> None:
        """Look again and again, as long as somebody watches."""
        while True:
            with self._changed:
                if self._changed.wait_for(self._unwatched, self._due - time.monotonic()):
                    self._thread = None
                    return
            self.parts()

    def _unwatched(self) -> bool:
        return self._closing or self.watchers == 0

    def close(self) -> None:
        """End all streams."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()


def _event(value: object) -> bytes:
    """One message of a stream; JSON has no line breaks, which would end it."""
    return f"data: {json.dumps(value)}\n\n".encode()
