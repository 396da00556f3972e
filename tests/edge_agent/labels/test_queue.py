"""A record waits for its label without being lost, and the button that gives it."""

from __future__ import annotations

import contextlib
import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge_agent.cli import main
from edge_agent.errors import SourceError
from edge_agent.labels import file as label_file
from edge_agent.labels.file import Tail
from edge_agent.labels.queue import LONGEST_QUEUE, Labelling
from edge_agent.labels.timeline import EXPIRES, NO_LABEL, Event, Timeline
from edge_agent.records import Position, Record
from edge_agent.state.state import State
from tests.edge_agent.labels.test_file import read
from tests.edge_agent.world import DEVICE, simulated
from tests.fsir.tasks import task


class World:
    """A clock that the test moves, and labels that become known as it moves."""

    def __init__(self, **settings):
        self.now = 1000.0
        self.tail = Tail.__new__(Tail)
        self.tail.timeline, self.tail.refresh, self.tail.exists = (
            Timeline(),
            lambda: None,
            lambda: False,
        )
        self.queue = Labelling(self.tail, clock=lambda: self.now, now=lambda: self.now, **settings)

    def press(self, label, at=None):
        at = self.now if at is None else at
        self.tail.timeline.add(Event(at, label, at + EXPIRES))

    def take(self):
        found = []
        while (record := self.queue.settled()) is not None:
            found.append((record.position.ordinal, record.y))
        return found


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
    """Records that come one by one or in bursts get the same labels, as long as they come before these are settled."""

    def run(sizes):
        world, found, k, done = World(delay=10.0), [], 0, 0
        for size in sizes:
            world.now = 1000.0 + k + size  # the burst arrives when its last record has been made
            for at, label in presses[done:]:
                if 1000.0 + at <= world.now:
                    world.press(label, 1000.0 + at)
                    done += 1
            for j in range(size):
                world.queue.add(
                    Record(Position(k + j), {}, span=(1000.0 + k + j, 1001.0 + k + j)), owned=False
                )
            k += size
            found += world.take()
        world.now += 1000.0
        return found + world.take()

    presses.sort(key=lambda press: press[0])
    assert run(chunks) == run([1] * sum(chunks))


# --- the button -------------------------------------------------------------------------------------------------------


@pytest.fixture
def state_directory(tmp_path):
    """The state of a device that has accepted a task of classes a, b, c; its agent runs on."""
    with contextlib.closing(State(tmp_path / "state", DEVICE, simulated=True)) as state:
        simulated(task(), state=state)
        yield tmp_path / "state"


def test_the_button_while_the_agent_runs(state_directory, capsys):
    where = ["--state", str(state_directory)]
    assert main(["label", "a", *where, "--since", "100", "--json"]) == 0
    pressed = json.loads(capsys.readouterr().out)
    assert main(["label", "--clear", *where]) == 0
    assert "not known" in capsys.readouterr().out
    timeline = read(state_directory).timeline
    assert timeline.over(pressed["time"] + 1, pressed["time"] + 50) == "a"
    assert timeline.over(pressed["time"] + 1, pressed["time"] + 1000) == ""
    assert pressed["until"] - pressed["time"] == pytest.approx(EXPIRES + 100)


def test_the_button_for_a_time_in_the_past(state_directory, capsys):
    at = ["--at", "2026-01-01T10:00:00+00:00", "--for", "600", "--json"]
    assert main(["label", "b", "--state", str(state_directory), *at]) == 0
    pressed = json.loads(capsys.readouterr().out)
    assert pressed["until"] - pressed["time"] == 600
    assert read(state_directory).timeline.over(pressed["time"], pressed["time"] + 599) == "b"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["flying"], "known are a, b, c"),
        ([], "--clear"),
        (["a", "--clear"], "--clear"),
        (["a", "--at", "noon"], "2026-05-01T12:30:00"),
        (["a", "--at", "9e12"], "press when it does"),
        (["a", "--at", "nan"], "seconds since the epoch"),
        (["a", "--at", "-5"], "seconds since the epoch"),
        (["a", "--at", "1e400"], "seconds since the epoch"),
        (["a", "--at", "0001-01-01"], "seconds since the epoch"),
        (["a", "--at", "9999-12-31T23:59:59"], "press when it does"),
        (["a", "--at", "2001-01-01"], "--for SECONDS"),
        (["a", "--since", "-1000"], "press when it does"),
        (["a", "--since", "nan"], "how many seconds ago"),
        (["a", "--since", "inf"], "how many seconds ago"),
        (["a", "--since", "-inf"], "how many seconds ago"),
        (["a", "--since", "99999999999"], "how many seconds ago"),
        (["a", "--since", "1e300"], "how many seconds ago"),
        (["a", "--since", "5000000"], "--for SECONDS"),
        (["a", "--for", "0"], "above 0"),
        (["a", "--for", "-1"], "above 0"),
        (["a", "--for", "nan"], "above 0"),
        (["a", "--for", "inf"], "at most 2592000"),
        (["a", "--for", "1e12"], "at most 2592000"),
        (["a", "--at", "5", "--for", "2592001"], "at most 2592000"),
        (["--clear", "--for", "1e300"], "at most 2592000"),
    ],
)
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_mistakes_with_the_button(state_directory, arguments, reason, form, capsys):
    arguments = (
        [*arguments[:-2], f"{arguments[-2]}={arguments[-1]}"]
        if "--" in "".join(arguments[:-1])
        else arguments
    )
    assert main(["label", *arguments, *form, "--state", str(state_directory)]) == 2
    said = capsys.readouterr().err
    assert reason in said
    if (flag := arguments[-1].partition("=")[0] if arguments else "") in (
        "--at",
        "--since",
        "--for",
    ):
        value = arguments[-1].partition("=")[2]
        assert any(
            f"{flag} {form}:" in said for form in (value, value if flag == "--at" else float(value))
        )
    assert not (state_directory / label_file.FILE).exists()


def test_the_button_at_the_ends_of_what_it_takes(state_directory, capsys):
    where = ["--state", str(state_directory)]
    for more in (
        ["--at", "0", "--for", "2592000"],
        ["--for", "2592000"],
        ["--since", "2592000"],
        ["--since", "-59"],
    ):
        assert main(["label", "a", *more, *where]) == 0
    assert capsys.readouterr().out.count("until") == 4
    assert len((state_directory / label_file.FILE).read_bytes().splitlines()) == 4


def test_a_label_that_the_disk_does_not_take_is_not_reported_as_kept(
    state_directory, capsys, monkeypatch
):
    where = ["--state", str(state_directory)]
    assert main(["label", "a", *where]) == 0
    before = (state_directory / label_file.FILE).read_bytes()
    real = os.write
    monkeypatch.setattr(
        os, "write", lambda file, text: real(file, text[:7]) if len(text) > 20 else 0
    )
    capsys.readouterr()
    assert main(["label", "b", *where]) == 2
    monkeypatch.undo()
    said = capsys.readouterr()
    assert not said.out
    assert "No space left on device; the label was not kept" in said.err
    assert (state_directory / label_file.FILE).read_bytes() == before


@pytest.mark.parametrize("ran", [False, True])
def test_before_the_first_task_any_label_may_turn_out_to_be_known(tmp_path, ran, capsys):
    """A recording is labelled before it is read."""
    if ran:
        State(tmp_path, DEVICE).close()
    where = ["--at", "1700000000", "--for", "60", "--state", str(tmp_path)]
    assert main(["label", "sedentary", *where]) == 0
    assert "counts if the task that comes knows it" in capsys.readouterr().out
    assert main(["label", "sedentary", *where, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["known"] is False
    assert read(tmp_path).timeline.over(1700000001.0, 1700000050.0) == "sedentary"
    for nonsense in ("", " ", "x" * 201, "a\ud800"):
        assert main(["label", nonsense, *where]) == 2
        assert "at most 200 characters" in capsys.readouterr().err
    assert len((tmp_path / label_file.FILE).read_bytes().splitlines()) == 2


def test_the_button_of_a_device_that_is_not_there(tmp_path, capsys):
    assert main(["label", "a", "--state", str(tmp_path / "typo")]) == 2
    assert "no state file" in capsys.readouterr().err
    assert not os.listdir(tmp_path)
