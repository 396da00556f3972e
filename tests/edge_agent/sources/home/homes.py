"""A home whose clock and messages are the test's: at its broker nobody listens."""

from __future__ import annotations

from types import SimpleNamespace

from edge_agent.records import START
from edge_agent.sources.base import Options
from edge_agent.sources.home.source import Home
from fsir.net.broker import Broker

OPTIONS = Options(broker=Broker("127.0.0.1", 9))
START_SECONDS = 1_750_000_000.0  # a multiple of 100, and of 60 no more than of anything else


class Heard(Home):
    """A template whose messages are handed over by the test."""

    def __init__(self, path, now=START_SECONDS):
        self.now = now
        super().__init__(str(path), OPTIONS, lambda: self.now)
        self._subscription.step = lambda now: None
        self.resume(START)

    def hear(self, topic, payload, retain=False):
        raw = payload if isinstance(payload, bytes) else payload.encode()
        message = SimpleNamespace(topic=topic, payload=raw, retain=retain, dup=False)
        self._subscription.receive(message)

    def after(self, seconds):
        """The records that come in so many seconds, by their numbers since the start."""
        self.now += seconds
        return self.poll(16)


def template(tmp_path, text):
    """A template file."""
    path = tmp_path / "home.toml"
    path.write_text(text)
    return path
