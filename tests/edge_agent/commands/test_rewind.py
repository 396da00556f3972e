"""`fsir-agent rewind`: a file is read again, or it is said why not."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from edge_agent.agent import Feed
from edge_agent.cli import main
from edge_agent.state.state import State
from tests.edge_agent.world import DEVICE, records, simulated
from tests.fsir.tasks import task


@pytest.fixture
def half(tmp_path, monkeypatch):
    """A state that has learned some records of a file, and a task that has learned none of one."""
    monkeypatch.chdir(tmp_path)
    with closing(State(tmp_path / "state", DEVICE, simulated=True)) as state:
        feed = Feed(f"csv:{tmp_path.resolve() / 'walk.csv'}")
        of = task(privacy={"epsilon": 0.5})
        agent = simulated(of, state=state, feed=feed)
        for record in records(of, 30):
            agent.learn(record)
        agent.checkpoint()
        fresh = task(name="fresh", privacy={"epsilon": 0.5})
        simulated(fresh, state=state, feed=Feed("jsonl:/srv/door.jsonl"))
    return tmp_path


def rewind(*arguments):
    return main(["rewind", "--state", "state", *arguments])


@pytest.mark.parametrize("form", ["csv:walk.csv", "csv:./walk.csv", "csv:{folder}/walk.csv"])
def test_a_file_is_known_by_any_path_to_it(half, capsys, form):
    assert rewind("--source", form.format(folder=half), "--json") == 0
    said = json.loads(capsys.readouterr().out)
    name = f"csv:{half.resolve()}/walk.csv"
    assert said == {
        "device": DEVICE,
        "source": name,
        "learned": ["test"],
        "recognised": [],
        "positions": 1,
    }
    assert rewind("--source", form.format(folder=half)) == 0
    assert capsys.readouterr().out == f"{name}: nothing of it has been read yet\n"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("csv:wolk.csv", "this state does not know it; did you mean csv:{folder}/walk.csv?"),
        ("jsonl:walk.jsonl", "did you mean"),
        ("jsonl:-", "only a file can be read again; what this one has brought is gone"),
        ("mqtt:home/+", "only a file can be read again"),
        ("iio:mpu6050", "only a file can be read again"),
        ("program:belt", "only a file can be read again"),
        ("walk.csv", "did you mean csv:{folder}/walk.csv?"),
    ],
)
def test_mistakes_are_named(half, capsys, source, said):
    assert rewind("--source", source) == 2
    assert said.format(folder=half.resolve()) in capsys.readouterr().err


def test_a_source_of_which_nothing_was_read(half, capsys):
    assert rewind("--source", "jsonl:/srv/door.jsonl") == 0
    assert capsys.readouterr().out == "jsonl:/srv/door.jsonl: nothing of it has been read yet\n"


def test_while_an_agent_runs_nothing_is_touched(half, capsys):
    with closing(State(half / "state", DEVICE, simulated=True)):
        assert rewind("--source", "csv:walk.csv") == 2
    assert "another agent is using state: stop it" in capsys.readouterr().err
    assert rewind("--source", "csv:walk.csv") == 0


def test_a_directory_without_a_state_is_named_and_stays_away(half, capsys):
    assert main(["rewind", "--state", "nowhere", "--source", "csv:walk.csv"]) == 2
    assert "there is no state file" in capsys.readouterr().err
    assert not (half / "nowhere").exists()
