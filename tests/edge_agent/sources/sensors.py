"""A live sensor whose samples are put in by the test, and the records that a source makes of it."""

from __future__ import annotations

from edge_agent.records import START
from edge_agent.sources.samples import Samples
from edge_agent.sources.windowed import SignalSource


class Sensor:
    """A reader of samples that never ends."""

    name = "test:sensor"
    replayable = False
    ended = False

    def __init__(self):
        self.queue = []
        self.started = False
        self.closed = False

    def start(self, cursor):
        self.started = cursor is None

    def read(self):
        taken = self.queue
        self.queue = []
        return taken

    def fileno(self):
        return 7

    def delay(self):
        return 0.5

    def close(self):
        self.closed = True


def live(after=START):
    """A source of windows that was started."""
    source = SignalSource(Sensor(), 8.0, 35.0)
    source.resume(after)
    return source


def give(source, times, acc, gyro, limit=16):
    """The records that these samples complete."""
    source._reader.queue.append(Samples(times=times, acc=acc, gyro=gyro))
    records = []
    while batch := source.poll(limit):
        records += batch
    return records


def ordinals(records):
    """The numbers of records."""
    return [record.position.ordinal for record in records]
