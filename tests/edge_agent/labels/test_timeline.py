"""Labels: which record gets which."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from edge_agent.labels.timeline import REMEMBERED, Event, Timeline
from edge_agent.records import Position, Record
from tests.edge_agent.world import simulated
from tests.fsir.tasks import task

times = st.integers(0, 15).map(float)
labels = st.sampled_from(["a", "b", ""])
events = st.builds(
    lambda time, label, lasts: Event(time, label, time + lasts),
    times,
    labels,
    st.integers(1, 12).map(float),
)


def said_at(history: list[Event], instant: float) -> str:
    """The plain meaning: the last event at or before the instant holds, if it has not expired."""
    begun = [event for event in history if event.time <= instant]
    if not begun:
        return ""
    newest = max(event.time for event in begun)
    latest = [event for event in begun if event.time == newest][-1]
    return latest.label if instant < latest.until else ""


@given(st.lists(events, max_size=12), times, st.integers(0, 10).map(float))
def test_a_label_holds_for_a_record_only_if_it_holds_at_every_instant_of_it(history, first, length):
    timeline = Timeline()
    for event in history:
        timeline.add(event)
    # All that happens happens at whole seconds: between them nothing changes.
    everywhere = {said_at(history, first + half / 2) for half in range(int(length) * 2 + 1)}
    expected = everywhere.pop() if len(everywhere) == 1 else ""
    assert timeline.over(first, first + length) == expected


def test_the_memory_for_events_is_bounded():
    timeline = Timeline()
    for k in range(REMEMBERED + 5):
        timeline.add(Event(float(k), "a", k + 0.5))
    assert [timeline.over(float(k), float(k)) for k in (4, 5)] == ["", "a"]


def test_events_of_the_far_future_push_no_other_out():
    timeline = Timeline()
    for k in range(10):
        timeline.add(Event(1000.0 + k, "a", 2000.0), now=1010.0)
    for k in range(2 * REMEMBERED):
        timeline.add(Event(1.7e12 + k, "b", 1.8e12), now=1010.0)
    timeline.add(Event(1011.0, "c", 2000.0), now=1011.0)
    assert [timeline.over(t, t) for t in (1000.0, 1005.0, 1012.0)] == ["a", "a", "c"]


def test_labels_that_the_task_does_not_know_are_told_once_and_never_quoted(caplog):
    """A label is part of a record, and no record goes into a log."""
    of = task()
    agent = simulated(of)
    for k, label in enumerate(["a", "", None, "sitting", "A", *(f"x{k}" for k in range(100))]):
        agent.learn(Record(Position(k), dict.fromkeys(of.features.names, 0.5) | {"y": label}))
    assert agent.n == 100
    assert agent.refused == {"unknown response": 99}
    said = "a label that the task does not know: not learned; known are a, b, c"
    assert caplog.text.count(said) == 1
    assert "sitting" not in caplog.text
