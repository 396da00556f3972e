"""Records that are learned together: the same bits, positions and refusals as one by one."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from edge_agent.agent import Agent, Feed
from edge_agent.labels.queue import Labelling
from edge_agent.loop.feeding import Feeding
from edge_agent.output import Lines
from edge_agent.records import Position, Record
from edge_agent.sources import open_source
from edge_agent.sources.base import Options
from edge_agent.sources.csv_file import CsvFile
from edge_agent.state.state import State
from tests.edge_agent.world import DEVICE
from tests.fsir.tasks import task

NUMBER = st.sampled_from(["0.25", "-1e3", " 7 ", "1_0", "1e200", "2", "-0.0"])
BAD = st.sampled_from(["nan", "inf", "-inf", "", "one", "1e999", "\u00e4"])
VALUE = st.one_of(NUMBER, NUMBER, NUMBER, BAD)
LABEL = st.sampled_from(["a", "b", "a", "b", "", "unknown"])
SOUND = st.tuples(NUMBER, NUMBER, NUMBER, st.sampled_from(["a", "b"])).map(",".join)
ODD = st.one_of(
    st.tuples(VALUE, VALUE, VALUE, LABEL).map(",".join),
    st.sampled_from(["1,2", "1,2,3,a,5", '"1,2,3,a', '"1",2,3,a', "", "x0,x1,x2,y", "1,2\r,3,a"]),
)
# Most blocks that are read have nothing odd in them, and some have one odd line.
RUN = st.tuples(st.lists(SOUND, min_size=1, max_size=9), st.integers(1, 20))
RUNS = st.lists(st.tuples(RUN, st.lists(ODD, max_size=2)), min_size=1, max_size=4)


def lines_of(runs):
    """Long runs of sound lines, and what stands between them."""
    return [line for (sound, times), odd in runs for line in (*sound * times, *odd)]


ENDS = st.sampled_from(["\n", "\r\n"])


def alone(monkeypatch):
    """Read, parse and learn everything one by one."""
    monkeypatch.setattr(CsvFile, "_plain_records", lambda self, lines: [])
    monkeypatch.setattr(Agent, "learn_sound", lambda self, records: False)
    monkeypatch.setattr(Feeding, "_alike", lambda self: 1)


def fed(tmp_path, size, *parts):
    """What an agent has after a file that grows by these parts, and what it would store."""
    path = tmp_path / "data.csv"
    path.write_bytes(b"")
    of = task(report={"records": size})
    source = open_source(f"csv:{path}", Options(follow=True))
    state = State(None, DEVICE, simulated=True)
    with contextlib.closing(state), contextlib.closing(source):
        agent = Agent(state, "test", feed=Feed.of(source), simulated=True)
        agent.receive("fsir/1/test/task", of.encode())
        feeding = Feeding([agent], source, Lines(io.StringIO()), Labelling(), None)
        feeding.resume(state)
        trail = []
        for part in parts:
            with path.open("ab") as file:
                file.write(part)
            for _ in range(8):
                feeding.step()
            agent.checkpoint()
            stored = state.progress("test")
            trail.append((stored, agent.position, dict(agent.refused), str(agent.why_refused())))
        told = {**source.tally.counts, **feeding._tally.counts}
        return trail, agent.n, told, len(feeding._waiting)


@settings(max_examples=60, deadline=None)
@given(RUNS.map(lines_of), ENDS, st.booleans(), st.integers(1, 160), st.integers(0, 2000))
@example([*["1,2,3,a"] * 9, "x0,x1,x2,y", "1,2,3,b"], "\n", False, 160, 20)
@example(["1,2,3,a"] * 99, "\n", False, 70, 20)
def test_a_file_is_learned_as_if_line_by_line(rows, end, bom, size, cut):
    text = end.join(["x0,x1,x2,y", *rows, ""]).encode()
    raw = (b"\xef\xbb\xbf" if bom else b"") + text
    head = min(len(raw), max(cut, 20))
    parts = (raw[:head], raw[head:])
    with TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        together = fed(Path(place), size, *parts)
        alone(patch)
        assert fed(Path(place), size, *parts) == together


@pytest.mark.parametrize(
    "x",
    [
        {"x0": "nan", "x1": "0", "x2": "0", "y": "a"},
        {"x0": 1, "x1": "0", "x2": "0", "y": "a"},
        {"x0": "0", "x1": "0", "y": "a"},
        {"x0": "0", "x1": "0", "x2": "0", "y": "d"},
        {"x0": 10**400, "x1": 0, "x2": 0, "y": "a"},
    ],
)
def test_of_records_one_of_which_is_odd_none_is_learned_together(x):
    good = {"x0": "1", "x1": "2", "x2": "3", "y": "a"}
    with contextlib.closing(State(None, DEVICE, simulated=True)) as state:
        agent = Agent(state, "test", simulated=True)
        agent.receive("fsir/1/test/task", task(report={"records": 9}).encode())
        records = [Record(Position(k), value) for k, value in enumerate([good, x, good])]
        assert not agent.learn_sound(records)
        assert (agent.n, agent.refused, agent.position.ordinal) == (0, {}, -1)


def test_no_more_are_learned_together_than_are_wanted_and_none_twice():
    good = {"x0": "1", "x1": "2", "x2": "3", "y": "a"}
    with contextlib.closing(State(None, DEVICE, simulated=True)) as state:
        agent = Agent(state, "test", simulated=True)
        agent.receive("fsir/1/test/task", task(report={"records": 3}).encode())
        records = [Record(Position(k), good) for k in range(4)]
        assert not agent.learn_sound(records)
        assert agent.learn_sound(records[:2])
        assert not agent.learn_sound(records[1:2])
        assert not agent.learn_sound([records[3], records[2]])
        assert (agent.n, agent.room, agent.position.ordinal) == (2, 1, 1)
