"""A record waits for its label without being lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.errors import SourceError
from edge_agent.labels.queue import LONGEST_QUEUE, Labelling
from edge_agent.labels.timeline import EXPIRES_SECONDS, NO_LABEL, Event, Timeline
from edge_agent.records import Position, Record


class Told:
    """Labels without a file."""

    def __init__(self):
        self.timeline = Timeline()

    def refresh(self):
        pass

    def exists(self):
        return False


class World:
    """A clock that the test moves, and labels that become known as it moves."""

    def __init__(self, **settings):
        self.now = 1000.0
        self.tail = Told()
        self.queue = Labelling(self.tail, clock=lambda: self.now, now=lambda: self.now, **settings)

    def press(self, label, at=None):
        at = self.now if at is None else at
        self.tail.timeline.add(Event(at, label, at + EXPIRES_SECONDS))

    def take(self):
        records = []
        while (record := self.queue.decided()) is not None:
            records.append((record.position.ordinal, record.y))
        return records


def spanned(k: int, last: float, y: str | None = None) -> Record:
    return Record(Position(k), {}, y, span=(last - 2.56, last))


def test_a_press_after_the_fact_still_counts_within_the_delay():
    world = World(delay=5.0)
    world.queue.add(spanned(0, 1000.0), owned=False)
    world.now = 1003.0
    assert world.take() == []
    world.press("a", at=990.0)
    world.now = 1005.0
    assert world.take() == [(0, "a")]
    assert world.take() == []


def test_records_leave_in_their_order_even_if_one_needs_no_label():
    world = World(delay=5.0)
    world.queue.add(spanned(0, 1000.0), owned=False)
    world.queue.add(spanned(1, 1001.0, "b"), owned=True)
    assert world.take() == []
    world.now = 1006.0
    assert world.take() == [(0, NO_LABEL), (1, "b")]


def test_a_clock_ahead_holds_a_record_no_longer_than_the_delay_and_old_records_do_not_wait():
    world = World(delay=5.0)
    world.queue.add(spanned(0, 9_000.0), owned=False)
    world.queue.add(spanned(1, 400.0), owned=False)
    world.now += 5.0
    assert [ordinal for ordinal, _ in world.take()] == [0, 1]
    world.queue.add(spanned(2, 400.0), owned=False)
    assert [ordinal for ordinal, _ in world.take()] == [2]


def test_records_without_a_time_take_labels_only_if_asked_to():
    plain = World()
    plain.press("a")
    plain.queue.add(Record(Position(0), {}), owned=False)
    assert plain.take() == [(0, None)]
    live = World(pressed=True, delay=2.0)
    live.press("a")
    live.now += 1.0
    live.queue.add(Record(Position(0), {}), owned=False)
    live.now += 2.0
    assert live.take() == [(0, "a")]


def test_a_file_needs_times():
    world = World(pressed=True, replayable=True, time_column="t")
    world.press("a", at=100.0)
    world.queue.add(Record(Position(0), {"t": "1970-01-01T00:01:50+00:00"}), owned=False)
    assert world.take() == [(0, "a")]
    for broken in ({"t": "soon"}, {"t": "nan"}, {}):
        world.queue.add(Record(Position(1), broken), owned=False)
        world.now += 10.0
        assert world.take() == [(1, NO_LABEL)]
    with pytest.raises(SourceError, match="--time-column"):
        World(pressed=True, replayable=True).queue.add(Record(Position(0), {}), owned=False)


def test_the_queue_is_bounded_and_what_leaves_early_has_no_label(caplog):
    world = World(delay=1e6)
    world.press("a", at=0.0)
    for k in range(LONGEST_QUEUE + 3):
        world.queue.add(spanned(k, 1000.0), owned=False)
    assert world.take() == [(0, NO_LABEL), (1, NO_LABEL), (2, NO_LABEL)]
    assert len(world.queue) == LONGEST_QUEUE
    assert "--label-delay" in caplog.text


@given(
    st.lists(st.tuples(st.floats(0, 50), st.sampled_from(["a", "b", ""])), max_size=8),
    st.lists(st.integers(1, 9), min_size=1, max_size=30),
)
def test_chunking_is_irrelevant(presses, chunks):
    """Records that come one by one or in bursts get the same labels.

    As long as they come before these are decided.
    """

    def run(sizes):
        world = World(delay=10.0)
        records = []
        k = 0
        done = 0
        for size in sizes:
            world.now = 1000.0 + k + size  # the burst arrives when its last record has been made
            for at, label in presses[done:]:
                if 1000.0 + at <= world.now:
                    world.press(label, 1000.0 + at)
                    done += 1
            for j in range(k, k + size):
                record = Record(Position(j), {}, span=(1000.0 + j, 1001.0 + j))
                world.queue.add(record, owned=False)
            k += size
            records += world.take()
        world.now += 1000.0
        return records + world.take()

    presses.sort(key=lambda press: press[0])
    assert run(chunks) == run([1] * sum(chunks))
